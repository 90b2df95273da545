"""Facts that sound like a change, and both hold: neither the words nor the model retire the older one."""

import pytest

from memorist.facts.plain.changes import change_of
from memorist.facts.values import Ruling
from tests.facts.judges import local_judge
from tests.facts.test_choices import ENDING
from tests.facts.test_judging import fact

USED_BESIDE_WHAT_IS_PREFERRED = [
    ("User prefers tea over coffee.", "User needs coffee."),
    ("User prefers tea over coffee.", "User wants coffee."),
    ("User prefers tea over coffee.", "User uses coffee."),
    ("User prefers Python over Java.", "User uses Java."),
    ("User prefers Vim over Emacs.", "User asked for Emacs."),
    ("User prefers listening to podcasts.", "User prefers podcasts."),
    ("User prefers talking to Anna.", "User needs Anna."),
    ("User prefers flying to Berlin.", "User chose Berlin."),
    ("User would like a roof over the terrace.", "User wants the terrace."),
]

TWO_DENIALS = [
    ("User is not married.", "User is not divorced."),
    ("User is not single.", "User is not married."),
    ("User is no longer single.", "User is no longer married."),
    ("User's first language is not English.", "User's first language is not German."),
    ("User's job is not remote.", "User's job is not hybrid."),
    ("User wants replies not in English.", "User wants replies not in German."),
]

ONE_OF_SEVERAL_THINGS = [
    ("User can write German.", "User can write French."),
    ("User can write emails in English.", "User can write emails in German."),
    ("We write reports in English.", "We write reports in German."),
    ("User wants to learn to write Chinese.", "User wants to learn to write Japanese."),
    ("User wants to write a short story.", "User wants to write a long story."),
    ("User uses Slack for communication.", "User uses email for communication."),
    ("User uses Slack for notifications.", "User uses email for notifications."),
    ("User uses German documentation.", "User uses English documentation."),
    ("User needs the contract translated into German.", "User needs the contract translated into French."),
    ("User asked for a short summary.", "User asked for a detailed summary."),
    ("User wants weekly billing reports.", "User wants monthly billing reports."),
    ("User wants to run 10 km in a race.", "User wants to run 10 miles in a race."),
    ("User wants a single room with quotes.", "User wants a double room with quotes."),
    ("User is learning a language: German.", "User is learning a language: French."),
    ("Switzerland's official language is German.", "Switzerland's official language is French."),
]

SEVERAL_AT_ONCE = [
    ("User's current medications are Aspirin.", "User's current medications are Ibuprofen."),
    ("User's current medication is Aspirin.", "User's current medication is Ibuprofen."),
    ("The company's main competitors are Globex.", "The company's main competitors are Initech."),
    ("User's preferred brands are Nike.", "User's preferred brands are Adidas."),
    ("The app's current languages are English.", "The app's current languages are Polish."),
    ("The main characters are Ada.", "The main characters are Tom."),
    ("The official documents are Passport.", "The official documents are Visa."),
]

TOLD_OF_OTHER_CASES = [
    ("The rate limit is 100 on staging.", "The rate limit is 500 on production."),
    ("The timeout is 30 on staging.", "The timeout is 60 on production."),
    ("The default region is Frankfurt on staging.", "The default region is Dublin on production."),
    ("The server listens on port 8080 on staging.", "The server listens on port 9090 on production."),
    ("User's handle is @ada on GitHub.", "User's handle is @lovelace on Mastodon."),
    ("User's username is Ada99 on GitHub.", "User's username is Lovelace on Reddit."),
    ("The fee is $5 before noon.", "The fee is $10 after noon."),
    ("The price is $5, small.", "The price is $9, large."),
    ("User's provider is Aetna for health.", "User's provider is Comcast for internet."),
]

OTHER_WORDS = [
    ("User likes plans.", "User hates planes."),
    ("User likes cars.", "User does not like cares."),
    ("User likes stars.", "User hates stares."),
    ("User likes wines.", "User hates wins."),
    ("User has no glasses.", "User has a glass."),
    ("User likes Claire.", "User dislikes Clair."),
    ("User knows Anne.", "User does not know Ann."),
]

NOTHING_DENIED = [
    ("No, the user likes tea.", "The user likes tea."),
    ("User's favourite song is Never Enough.", "User's favourite song is Enough."),
    ("User's song is Never Enough.", "User's song is Enough."),
    ("User asked if it is not cold.", "User asked if it is cold."),
]

OF_SOME_ONE = [
    ("A server is on.", "A server is off."),
    ("An account is enabled.", "An account is disabled."),
    ("A user wants invoices in euros.", "A user wants invoices in dollars."),
]

ONE_PLACE_IN_ANOTHER = [
    ("Der Benutzer wohnt in Kreuzberg.", "Der Benutzer wohnt in Berlin."),
    ("Der Benutzer wohnt in München.", "Der Benutzer wohnt in Oberbayern."),
    ("Anna lebt in Hamburg.", "Anna lebt in Altona."),
    ("El usuario vive en Bilbao.", "El usuario vive en Vizcaya."),
    ("El usuario vive en Madrid.", "El usuario vive en Chamberí."),
    ("L'utilisateur habite à Bordeaux.", "L'utilisateur habite en Gironde."),
    ("L'utilisateur habite à Paris.", "L'utilisateur habite au Marais."),
    ("Anna lebt in Wien.", "Anna lebt in Rente."),
    ("Anna lebt in Wien.", "Anna lebt in Ehe."),
    ("Anna lebt in Wien.", "Anna lebt in Vollzeit."),
    ("User lives in Trinidad and Tobago.", "User lives in Port of Spain."),
]

OF_EVERY_DAY = [
    ("User drinks tea in the morning.", "User drinks coffee in the afternoon."),
    ("User's train leaves at 7:45 on weekdays.", "User's train leaves at 9:10 on Sundays."),
    ("User prefers window seats on trains.", "User prefers aisle seats on planes."),
    ("User's car is red.", "User's bike is blue."),
    ("User's password manager is Bitwarden.", "User's browser is Firefox."),
    ("User wants the heating on.", "User wants the lights off."),
    ("User's favourite ice cream is vanilla.", "User's favourite cake is chocolate."),
    ("User likes rainy days.", "User doesn't like rainy nights."),
    ("User has no car.", "User has a car key."),
    ("User's rent is 900 for the flat.", "User's rent is 80 for the garage."),
    ("User's shoe size is 42 in Europe.", "User's shoe size is 9 in America."),
    ("The shop is open on Mondays.", "The shop is not open on Sundays."),
    ("User goes by Ada at work.", "User goes by Lovelace online."),
    ("User prefers reading over watching TV.", "User watches TV."),
    ("User prefers trains over planes.", "User needs planes for work."),
]

OF_WORK = [
    ("User works at Acme on weekdays.", "User works at Globex on weekends."),
    ("User's manager is Eva for the Atlas project.", "User's manager is Tom for the Borealis project."),
    ("The meeting is on Monday.", "The workshop is on Tuesday."),
    ("User asked for a brief report on sales.", "User asked for a detailed report on churn."),
    ("User wants English invoices for Acme.", "User wants German invoices for Globex."),
    ("User is not available on Mondays.", "User is available on Tuesdays."),
    ("The deadline is May 3 for the draft.", "The deadline is June 1 for the final version."),
    ("User's budget is 500 for travel.", "User's budget is 900 for hardware."),
    ("User needs a summary in English.", "User needs a summary in German."),
    ("User needs the report weekly.", "User needs the report monthly."),
    ("User's current client is Acme.", "User's current client is Globex."),
    ("User's main customer is Acme.", "User's main customer is Initech."),
    ("User's office hours are 9 on Mondays.", "User's office hours are 10 on Fridays."),
    ("A colleague is on leave.", "A colleague is not on leave."),
    ("User works as a nurse.", "User works as a volunteer firefighter at weekends."),
]

OF_SOFTWARE = [
    ("The service listens on port 8080 for HTTP.", "The service listens on port 9090 for metrics."),
    ("The timeout is 30 seconds for reads.", "The timeout is 60 seconds for writes."),
    ("The project uses tabs in Makefiles.", "The project uses spaces in Python."),
    ("The project uses PostgreSQL.", "The project uses Redis."),
    ("The build is not green on Windows.", "The build is green on Linux."),
    ("The default branch is main in the API repository.", "The default branch is develop in the web repository."),
    ("The flag beta is on in staging.", "The flag beta is off in production."),
    ("The logs are in English.", "The error messages are in German."),
    ("User uses Vim for Python.", "User uses Emacs for Lisp."),
    ("The API version is 2 for partners.", "The API version is 3 for customers."),
    ("The limit is 100 requests per minute.", "The limit is 5000 requests per day."),
    ("User prefers Rust over C.", "User uses C at work."),
    ("Telemetry is enabled in debug builds.", "Telemetry is disabled in release builds."),
    ("The repository atlas is private.", "The repository borealis is public."),
    ("The main dependencies are NumPy.", "The main dependencies are SciPy."),
    ("User switched from Chrome to Firefox.", "User uses Chrome for testing."),
    ("The primary keys are UUIDs.", "The primary keys are Integers."),
    ("The price is 5 with a coupon.", "The price is 9 without a coupon."),
]

OF_HEALTH = [
    ("User takes aspirin.", "User takes ibuprofen."),
    ("User's current medicine is Metformin.", "User's current medicine is Ramipril."),
    ("User is allergic to nuts.", "User is not allergic to milk."),
    ("User stopped taking Aspirin.", "User takes Ibuprofen."),
    ("User's current symptoms are Nausea.", "User's current symptoms are Fever."),
    ("User's doctor is Eva for the heart.", "User's doctor is Tom for the skin."),
    ("User's main diagnosis is Asthma.", "User's main diagnosis is Eczema."),
    ("User does not eat meat on Fridays.", "User eats meat on Sundays."),
    ("User cannot eat nuts.", "User can eat seeds."),
    ("User's blood pressure is 120 in the morning.", "User's blood pressure is 140 in the evening."),
    ("User stopped running.", "User runs a company."),
    ("User weighs 80 kg.", "User weighs 176 pounds."),
    ("User's weight is 80 before breakfast.", "User's weight is 82 after dinner."),
]

OF_FAMILY = [
    ("User's son lives in Rome.", "User's son lives in Oslo."),
    ("User's daughter is single.", "User's daughter is married."),
    ("User's mother lives in Rome.", "User's father lives in Oslo."),
    ("User speaks German with the kids.", "User speaks English with the spouse."),
    ("User's sister likes cats.", "User's sister dislikes cats."),
    ("User has a brother called Tom.", "User has a brother called Ben."),
    ("User's wife prefers tea over coffee.", "User prefers coffee over tea."),
    ("Ada's parents live in Leeds.", "Ada's parents live in Yorkshire."),
    ("User's nickname is Addie among friends.", "User's nickname is Boss at work."),
    ("User loves Anna.", "User doesn't love Ann."),
    ("One of the twins is left-handed.", "One of the twins is right-handed."),
    ("User's dog is not allowed on the sofa.", "User's dog is allowed on the bed."),
    ("User's birthday is May 3.", "User's birthday is on a Monday."),
    ("The kids' first language is German.", "The kids' first language is French."),
    ("User wants the kids to learn Spanish.", "User wants the kids to learn French."),
    ("User wants a short haircut.", "User wants long nails."),
    ("User wants still water for lunch.", "User wants sparkling water for dinner."),
    ("User wants sparkling water.", "User wants still water."),
    ("User booked economy class.", "User booked business class."),
    ("User wants to receive the newsletter weekly.", "User wants to receive the newsletter monthly."),
    ("User's username is ada at GitHub.", "User's username is lovelace at Reddit."),
    ("User needs single rooms.", "User needs double rooms."),
    ("User's main course is Fish.", "User's main course is Pasta."),
    ("User's current read is Dune.", "User's current read is Solaris."),
    ("User's preferred airline is KLM.", "User's preferred airline is SAS."),
    ("User lives in Newcastle.", "User lives in Tyneside."),
    ("User lives in Kyoto and Osaka.", "User lives in Osaka."),
    ("User likes morning classes.", "User likes evening classes."),
    ("User joined the chess club.", "User joined the tennis club."),
    ("User can read German.", "User can read French."),
    ("User wants prices in euros for Europe.", "User wants prices in dollars for America."),
    ("The menu is in French.", "The menu is in English."),
]

OF_MANY_KINDS = [
    ("User prefers dark mode and large fonts.", "User prefers light mode on paper."),
    ("User wants dark curtains.", "User wants light curtains."),
    ("User uses metric tools.", "User uses imperial tools."),
    ("User prefers business casual.", "User prefers economy class."),
    ("User wants a single bed.", "User wants a double bed."),
    ("User's car is on.", "User's car is off-road ready."),
    ("User is on a diet.", "User is off sugar."),
    ("User is on vacation.", "User is off duty."),
    ("The kitchen light is on.", "The hall light is off."),
    ("User is active on weekdays.", "User is inactive on weekends."),
    ("User wants emails answered briefly.", "User wants letters answered thoroughly."),
    ("User wants short emails.", "User wants long emails."),
    ("User wants reports in English.", "User wants reports in German."),
    ("User wants notifications by email.", "User wants notifications by sms."),
    ("User prefers contact by phone for emergencies.", "User prefers contact by email for invoices."),
    ("User likes cats.", "User does not like cats at night."),
    ("User likes Star Wars.", "User dislikes Star Trek."),
    ("User no longer works at Acme.", "User works at Globex."),
    ("User does not have a car.", "User has a car loan."),
    ("User never smoked.", "User smokes meat."),
    ("User stopped eating.", "User eats late."),
    ("User stopped smoking.", "User smoked in college."),
    ("User doesn't eat fish.", "User eats fish oil."),
    ("User is not vegan.", "User is vegetarian."),
    ("User doesn't know Tom.", "User knows Tom Keller."),
    ("User does not want calls.", "User wants calls from the doctor."),
    ("User wonders whether Ada is not well.", "User wonders whether Ada is well."),
    ("User does not know why the test is failing.", "User does know the test is failing."),
    ("User's plan is Pro for work.", "User's plan is Free for home."),
    ("User has the Netflix Basic plan.", "User has the Spotify Premium plan."),
    ("The customer has a Pro plan.", "The customer has a Team plan."),
    ("User is on the Pro plan at GitHub.", "User is on the Free plan at GitLab."),
    ("User works at Acme.", "User works at Home Depot too."),
    ("User works for Acme.", "User works for Globex as a consultant."),
    ("User's doctor is Eva.", "User's doctor is Irish."),
    ("User's dentist is Eva Keller.", "User's dentist is Dr. Keller."),
    ("User's name is Ada on Twitter.", "User's name is Lovelace on GitHub."),
    ("User's email is ada@example.org for work.", "User's email is ada@example.com for family."),
    ("User's email is ada@example.org.", "User's email is private."),
    ("User's phone number is 555 at work.", "User's phone number is 777 at home."),
    ("User's address is 5 Elm Street in summer.", "User's address is 9 Oak Street in winter."),
    ("User was born in Kiel.", "User was born in May."),
    ("User's favourite colour is blue for cars.", "User's favourite colour is green for walls."),
    ("The version is 3.11 for Python.", "The version is 20 for Node."),
    ("The service runs on port 8080 and 9090.", "The service runs on port 9090."),
    ("User's salary is 5000 before tax.", "User's salary is 3200 after tax."),
    ("The salary is 5000 gross.", "The salary is 3200 net."),
    ("The price is 10 plus tax.", "The price is 12 including tax."),
    ("The limit is 10 MB.", "The limit is 10 files."),
    ("The limit is 100 for free users.", "The limit is 500 for paying users."),
    ("The priority is high.", "The priority is 2."),
    ("The default value is 5 for retries.", "The default value is 30 for timeouts."),
    ("The default port is 5432 for PostgreSQL.", "The default port is 3306 for MySQL."),
    ("The current version of Python is 3.11.", "The current version of Node is 20."),
    ("User's primary contact is Eva at Acme.", "User's primary contact is Tom at Globex."),
    ("User's primary language is German at home.", "User's primary language is English at work."),
    ("User's main language is Python.", "User's main language is German."),
    ("User's preferred editor is Vim for scripts.", "User's preferred editor is PyCharm for Python."),
    ("User's current city is Rome.", "User's home city is Oslo."),
    ("User's main bank is ING.", "User's main bank account is N26."),
    ("User prefers Oslo to Rome.", "User prefers Rome."),
    ("User prefers trips to Oslo.", "User prefers Oslo."),
    ("User prefers tea instead of coffee.", "User asked for coffee."),
    ("User switched from Android to iOS.", "User uses Android tablets."),
    ("User would rather have tea over coffee.", "User likes coffee."),
    ("User prefers email over phone.", "User uses phone."),
    ("User prefers meat over fish.", "User wants fish for dinner."),
    ("User prefers aisle seats.", "User wants a window seat."),
    ("User prefers morning meetings on Mondays.", "User prefers afternoon meetings on Fridays."),
    ("User prefers British English.", "User prefers American coffee."),
    ("The answer is short.", "The answer is detailed."),
    ("The summary is short.", "The summary is long."),
    ("The report is in English.", "The report is in German."),
    ("The style is formal.", "The style is casual."),
    ("Anna lebt in Wien.", "Anna lebt in Scheidung."),
    ("Anna wohnt in Berlin.", "Anna wohnt in Mitte."),
    ("User lives in Bosnia and Herzegovina.", "User lives in Sarajevo."),
    ("User lives in St. John.", "User lives in Antigua and Barbuda."),
    ("User lives in Washington.", "User lives in Seattle."),
    ("User lives in Georgia.", "User lives in Atlanta."),
    ("User lives in New York.", "User lives in Brooklyn."),
    ("User is based in Delhi.", "User is based in India."),
    ("User lives in Hong Kong.", "User lives in China."),
    ("User lives in Singapore.", "User lives in Asia."),
    ("User lives in Santiago.", "User lives in Chile."),
    ("User lives in Valencia.", "User lives in Spain."),
    ("User lives in Europe.", "User lives in Germany."),
    ("User lives in Bavaria.", "User lives in Germany."),
    ("User lives in England.", "User lives in the UK."),
    ("User was born in Scotland.", "User was born in Britain."),
    ("Marie vit à Lyon.", "Marie vit en France."),
    ("Marie habite en Bretagne.", "Marie habite en France."),
    ("El usuario vive en Cataluña.", "El usuario vive en España."),
    ("Anna wohnt in Bayern.", "Anna wohnt in Deutschland."),
    ("Anna lebt in Österreich.", "Anna lebt in Tirol."),
    ("User's name is Ada on Twitter.", "User's name is Lovelace on GitHub."),
]

BOTH_HOLD = [
    *USED_BESIDE_WHAT_IS_PREFERRED,
    *TWO_DENIALS,
    *ONE_OF_SEVERAL_THINGS,
    *SEVERAL_AT_ONCE,
    *TOLD_OF_OTHER_CASES,
    *OTHER_WORDS,
    *NOTHING_DENIED,
    *OF_SOME_ONE,
    *ONE_PLACE_IN_ANOTHER,
    *OF_EVERY_DAY,
    *OF_WORK,
    *OF_SOFTWARE,
    *OF_HEALTH,
    *OF_FAMILY,
    *OF_MANY_KINDS,
]


@pytest.mark.parametrize(("older", "newer"), BOTH_HOLD)
def test_facts_that_both_hold_are_not_retired(older: str, newer: str) -> None:
    for one, other in ((older, newer), (newer, older)):
        assert change_of(one, other) not in ENDING
        assert local_judge().judge([(fact(other), fact(one))])[0].ruling is not Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The needs-review label is red.", "The needs-review label is blue."),
        ("The app re-uses the parser.", "The app re-uses the lexer."),
        ("Ada prefers/uses Vim.", "Ada prefers/uses Emacs."),
        ("Ada'd prefer tea.", "Ada'd prefer coffee."),
    ],
)
def test_verbs_within_other_words_choose_nothing(older: str, newer: str) -> None:
    assert change_of(older, newer) is None
