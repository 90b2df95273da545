"""Names of places that take more than a capital to tell. Pure."""

import re

# What people move to although it is no place, by names that could be of one.
NO_PLACES = re.compile(
    r"(?:sales|marketing|finance|engineering|research|support|operations|product|design|legal|accounting|management|"
    r"devops|qa|hr|it|team|linux|ubuntu|debian|fedora|windows|mac(?: ?os)?|android|ios|iphone|chrome|firefox|safari|"
    r"vim|neovim|emacs|cursor|python|rust|go|golang|java|kotlin|swift|typescript|javascript|react|vue|svelte|angular|django|"
    r"docker|kubernetes|terraform|ansible|postgres(?:ql)?|mysql|sqlite|redis|kafka|github|gitlab|bitbucket|git|jira|"
    r"linear|asana|trello|notion|obsidian|evernote|slack|teams|discord|zoom|signal|telegram|whatsapp|spotify|netflix|gmail|"
    r"outlook|aws|gcp|azure|heroku|vercel|cloudflare|zsh|fish|bash|scrum|kanban|islam|judaism|buddhism|christianity)\b.*",
    re.IGNORECASE,
)
# How one lives in German, where all nouns have a capital.
NO_GERMAN_PLACES = re.compile(
    r"(?:unter)?miete|armut|scheidung|trennung|angst|frieden|freiheit|partnerschaft|einsamkeit|wohlstand|"
    r"(?:wohn|lebens|haus)gemeinschaft|wg|elternzeit|rente|ehe|vollzeit|teilzeit|beziehung",
    re.IGNORECASE,
)
# Cities that are no part of each other, by the names that they have in English, German, Spanish and French.
CITIES = re.compile(
    r"(?:amsterdam|ankara|antwerp|athens?|athen|atenas|athènes|atlanta|auckland|austin|bangalore|bangkok|barcelona|"
    r"barcelone|basel|beijing|belgrade|berlin|berlín|bern|bilbao|birmingham|bogotá|bologna|bonn|bordeaux|boston|"
    r"bratislava|bremen|brisbane|bristol|brno|brussels|brüssel|bruselas|bruxelles|bucharest|budapest|buenos aires|"
    r"cairo|calgary|cape town|caracas|chicago|cologne|köln|copenhagen|kopenhagen|copenhague|dallas|delhi|denver|"
    r"detroit|dortmund|dresden|dubai|dublin|düsseldorf|edinburgh|essen|florence|frankfurt|gdansk|geneva|genf|ginebra|"
    r"genève|ghent|glasgow|gothenburg|granada|graz|guadalajara|hamburg|hamburgo|hambourg|hannover|hanoi|havana|helsinki|"
    r"hong kong|houston|innsbruck|istanbul|jakarta|johannesburg|kiel|kraków|krakow|kyiv|kyoto|lagos|leeds|"
    r"leipzig|lille|lima|linz|lisbon|lissabon|lisboa|lisbonne|liverpool|london|londres|los angeles|"
    r"lübeck|lyon|madrid|málaga|"
    r"malmö|manchester|manila|marseille|medellín|melbourne|mexico city|miami|milan|mailand|milán|minsk|monterrey|"
    r"montreal|montréal|moscow|moskau|moscú|moscou|mumbai|munich|münchen|múnich|münster|nairobi|nantes|naples|"
    r"neapel|nápoles|newcastle|new york|nice|nuremberg|nürnberg|oslo|osaka|ottawa|palermo|paris|parís|perth|"
    r"philadelphia|"
    r"phoenix|porto|portland|prague|prag|praga|quito|rennes|reykjavik|riga|rio de janeiro|rome|rom|roma|rosario|"
    r"rotterdam|salzburg|san diego|san francisco|santiago|são paulo|sarajevo|seattle|seoul|sevilla|seville|shanghai|"
    r"singapore|sofia|stockholm|strasbourg|stuttgart|sydney|tallinn|tampere|tbilisi|tel aviv|the hague|tokyo|tokio|"
    r"toronto|toulouse|tunis|turin|turku|uppsala|utrecht|valencia|valparaíso|vancouver|venice|vienna|wien|viena|vienne|"
    r"vilnius|warsaw|warschau|varsovia|varsovie|wellington|zagreb|zaragoza|zurich|zürich)",
    re.IGNORECASE,
)
# Large places that lie in others, or have such in them.
REGIONS = re.compile(
    r"(?:the )?(?:europe|asia|africa|scandinavia|britain|great britain|england|scotland|wales|northern ireland|uk|"
    r"united kingdom|us|usa|u\.s\.a?|united states|canada|alabama|alaska|arizona|california|colorado|florida|georgia|"
    r"hawaii|illinois|massachusetts|michigan|minnesota|new jersey|ohio|oregon|pennsylvania|texas|virginia|ontario|"
    r"quebec|"
    r"bavaria|saxony|catalonia|andalusia|tuscany|sicily|provence)",
    re.IGNORECASE,
)
# A city lies in a country, and both are told of one home.
LARGE_PLACES = re.compile(
    r"(?:the )?(?:europe|asia|africa|scandinavia|albania|algeria|argentina|australia|austria|bangladesh|belarus|"
    r"belgium|bolivia|bosnia(?: and herzegovina)?|brazil|britain|great britain|bulgaria|cambodia|cameroon|canada|"
    r"chile|china|colombia|"
    r"costa rica|croatia|cuba|cyprus|czechia|czech republic|denmark|ecuador|egypt|england|estonia|ethiopia|finland|"
    r"france|georgia|germany|ghana|greece|guatemala|hungary|iceland|india|indonesia|iran|iraq|ireland|israel|italy|"
    r"jamaica|japan|jordan|kazakhstan|kenya|korea|south korea|north korea|latvia|lebanon|lithuania|malaysia|malta|"
    r"mexico|moldova|mongolia|montenegro|morocco|mozambique|nepal|netherlands|new zealand|nicaragua|nigeria|"
    r"northern ireland|norway|pakistan|palestine|panama|paraguay|peru|philippines|poland|portugal|romania|russia|"
    r"rwanda|saudi arabia|scotland|senegal|serbia|slovakia|slovenia|south africa|spain|sri lanka|sudan|sweden|"
    r"switzerland|syria|taiwan|tanzania|thailand|tunisia|turkey|türkiye|trinidad and tobago|uganda|uk|ukraine|"
    r"united kingdom|united states|uruguay|us|usa|u\.s\.a?|uzbekistan|venezuela|vietnam|wales|zambia|zimbabwe|"
    r"alabama|alaska|arizona|"
    r"california|colorado|florida|hawaii|illinois|massachusetts|michigan|minnesota|new jersey|ohio|oregon|"
    r"pennsylvania|texas|virginia|ontario|quebec|bavaria|saxony|catalonia|andalusia|tuscany|sicily|provence|"
    # German.
    r"europa|asien|afrika|deutschland|österreich|frankreich|spanien|italien|großbritannien|schottland|irland|"
    r"nordirland|belgien|dänemark|schweden|norwegen|finnland|island|polen|tschechien|slowakei|slowenien|ungarn|"
    r"rumänien|bulgarien|griechenland|kroatien|serbien|russland|türkei|ägypten|marokko|südafrika|kanada|mexiko|"
    r"brasilien|argentinien|kolumbien|indien|indonesien|australien|neuseeland|südkorea|luxemburg|liechtenstein|"
    r"bayern|sachsen|sachsen-anhalt|hessen|thüringen|niedersachsen|brandenburg|schleswig-holstein|nordrhein-westfalen|"
    r"nrw|baden-württemberg|rheinland-pfalz|mecklenburg-vorpommern|tirol|kärnten|steiermark|katalonien|andalusien|"
    # Spanish.
    r"áfrica|españa|alemania|francia|italia|inglaterra|escocia|irlanda|gran bretaña|reino unido|bélgica|países bajos|"
    r"holanda|suiza|dinamarca|suecia|noruega|finlandia|polonia|hungría|rumanía|grecia|croacia|rusia|turquía|egipto|"
    r"marruecos|sudáfrica|canadá|méxico|estados unidos|brasil|perú|república dominicana|puerto rico|honduras|"
    r"el salvador|japón|corea del sur|nueva zelanda|cataluña|andalucía|galicia|asturias|cantabria|navarra|aragón|"
    r"castilla y león|extremadura|murcia|país vasco|canarias|baleares|baviera|"
    # French.
    r"afrique|asie|espagne|allemagne|italie|angleterre|écosse|irlande|grande-bretagne|royaume-uni|belgique|pays-bas|"
    r"suisse|danemark|suède|norvège|finlande|pologne|hongrie|roumanie|grèce|croatie|russie|turquie|égypte|maroc|algérie|"
    r"tunisie|sénégal|mexique|états-unis|brésil|argentine|chili|pérou|colombie|japon|chine|inde|australie|"
    r"nouvelle-zélande|québec|bretagne|normandie|alsace|bourgogne|auvergne|occitanie|corse|île-de-france|bavière|"
    r"catalogne|andalousie)",
    re.IGNORECASE,
)
