/** Compile the package twice, for `import` and for `require`, and its tests. */

import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist", { recursive: true, force: true });
const tsc = (...given) =>
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", ...given], { stdio: "inherit" });
// The types are checked once, with the tests.
const build = (...given) => tsc("-p", "tsconfig.build.json", "--noCheck", "--outDir", ...given);
build("dist/esm");
build("dist/cjs", "--module", "CommonJS", "--moduleResolution", "Bundler");
// The package is of modules; these are not.
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
tsc("-p", "tsconfig.json", "--noEmit", "false", "--outDir", "dist/tested");
