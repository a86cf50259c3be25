// Makes ../charts.bundle.js: the charts of the page with the library that they use, in one text, and its licenses.
//
//   npm ci --ignore-scripts && node bundle.mjs [FILE]       FILE: where to write it, instead
//
// The bundle is checked in, so that a build needs neither npm nor a network. Its first lines say of which sources it was
// made, and what its own text hashes to; tests/report/page/check_bundle holds it to both.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

// Of "HASH  NAME" lines, as sha256sum writes them.
function hashOfSources() {
  const names = readdirSync(here).filter((name) => /\.(js|mjs|json)$/.test(name)).sort();
  return sha256(names.map((name) => `${sha256(readFileSync(join(here, name)))}  ${name}\n`).join(""));
}

const built = await build({
  absWorkingDir: here,
  entryPoints: ["charts.js"],
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  minify: true,
  write: false,
});
const packages = [...new Set(Object.keys(built.metafile.inputs)
  .map((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean))].sort();
const licenses = packages.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((one) => join(folder, one)).find(existsSync);
  if (!file) throw new Error(`${name}: its package has no license text`);
  return `${name} ${version} (${license})\n\n${readFileSync(file, "utf8").trim()}`;
});
const body = `/*!
The charts of dpreduce's page, Apache License 2.0, with parts of these packages:

${licenses.join("\n\n----\n\n").replaceAll("*/", "* /")}
*/
${built.outputFiles[0].text.trim()}
`;
if (/<\/script|<!--/i.test(body)) throw new Error("the bundle could end the element that it stands in");
writeFileSync(process.argv[2] ?? join(here, "..", "charts.bundle.js"), `// sources ${hashOfSources()}\n// text ${sha256(body)}\n${body}`);
console.log(`${packages.join(", ")}: ${body.length} bytes`);
