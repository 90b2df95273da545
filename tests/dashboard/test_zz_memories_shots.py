import os
from memorist.model import *
from tests.dashboard.conftest import People, Person
from tests.support.browser import PHONE
TEXTS=["Prefers window seats on long flights, and an aisle seat on anything shorter than two hours.","The production database runs PostgreSQL 18 with pgvector; migrations are applied by the deploy job.",
"<script>alert('x')</script> <b>bold</b> & 100% _underscore_ \"quotes\"","مرحبا بالعالم هذا نص من اليمين إلى اليسار","🎉🔥 emoji 👩‍👩‍👧‍👦 everywhere","A very long one. "*600,"nospaces"*200,"Allergic to peanuts.","Uses tabs, not spaces."]
def test_shots(people: People, tenant: str) -> None:
    ada=people.sign_in(tenant)
    for i in range(60):
        ada.remember(f"Meeting note number {i}: the team agreed to ship on Friday.", kind=Kind.CHAT_MESSAGE, session="s1", trust=Trust.AGENT, owner=Owner("ada", ["coder","finance",None][i%3]))
    for i,t in enumerate(TEXTS):
        ada.remember(t, category=["preference","project",None,"goal"][i%4], project=[None,"/home/ada/code/memorist"][i%2])
    ada.remember("Do not auto-merge SDK bumps. Always patch bump unless told otherwise.", name="feedback_no_auto_merge", category="feedback", description="How to treat SDK bumps", importance=7, owner=Owner("ada","coder"))
    old=ada.remember("Lived in Lisbon")[0]; ada.core.retention.archive(ada.principal, old.id)
    page=ada.goto("/memories")
    page.wait_for_timeout(500)
    page.screenshot(path="/tmp/memories/desk.png")
    page.locator("[data-selectable]").nth(1).check(); page.locator("[data-selectable]").nth(2).check()
    page.screenshot(path="/tmp/memories/sel.png")
    page.get_by_role("button", name="Archive").click()
    page.wait_for_timeout(800)
    page.screenshot(path="/tmp/memories/arch.png")
    print(page.url)
    page.emulate_media(color_scheme="dark")
    ada.goto("/memories?state=all&q=ship"); page.wait_for_timeout(500)
    page.screenshot(path="/tmp/memories/dark.png")
    ada.goto("/memories/new"); page.screenshot(path="/tmp/memories/new.png", full_page=True)
    page.emulate_media(color_scheme="light"); page.set_viewport_size(PHONE)
    ada.goto("/memories"); page.wait_for_timeout(300)
    page.screenshot(path="/tmp/memories/phone.png")
    page.get_by_text("Narrow down").click(); page.screenshot(path="/tmp/memories/phone2.png")
    ada.goto("/memories/new?as=fact"); page.screenshot(path="/tmp/memories/phone3.png", full_page=True)
