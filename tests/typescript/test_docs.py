"""The examples in TypeScript on the pages: they compile, with the types of the package."""

import json

from tests.docs.pages import Page, all_pages
from tests.typescript.conftest import PACKAGE, run

# What the pages take for granted, as their text says.
_PRELUDE = """
declare const messages: { role: "user"; content: string }[];
declare const url: string;
declare const token: () => Promise<string>;
declare const entry: { id: string };
declare const show: (given: unknown) => void;
declare const store: import("@langchain/langgraph").BaseStore;
declare const builder: { compile(options: { store: import("@langchain/langgraph").BaseStore }): unknown };
"""
_MODULES = 'declare module "@ai-sdk/anthropic" { export const anthropic: (name: string) => any; }\n'


def test_examples_in_typescript_compile(built: str) -> None:
    folder = PACKAGE / "dist/docs"
    folder.mkdir(exist_ok=True)
    pages = [page for page in all_pages() if any(block.language == "ts" for block in page.blocks())]
    assert len(pages) >= 5
    (folder / "modules.d.ts").write_text(_MODULES)
    for number, page in enumerate(pages):
        (folder / f"{page.path.stem}_{number}.ts").write_text(_module(page))
    config = {"extends": "../../tsconfig.json", "include": ["*.ts"], "compilerOptions": {"noUnusedLocals": False}}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    run(built, "node_modules/typescript/bin/tsc", "--noEmit", "--rootDir", "../..", "-p", "dist/docs/tsconfig.json")


def _module(page: Page) -> str:
    blocks = "\n".join(block.text for block in page.blocks() if block.language == "ts")
    imported = "" if "import { Client }" in blocks else 'import { Client } from "memorist";\n'
    return f"{imported}{blocks}{_PRELUDE}export {{}};\n"
