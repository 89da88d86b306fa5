// `npm start`: surveys this clone with the offline model, which needs no key and no network.
// `npm start -- "a prompt"` runs that prompt; options of `skein run` may stand before it.
import { root } from "./layout.mjs"

const survey = "Survey this repository: entry points, modules, dependencies, open TODOs."
const given = process.argv.slice(2)
const has = (/** @type {RegExp} */ option) => given.some((argument) => option.test(argument))

process.argv = [
  process.argv[0] ?? "node",
  "skein",
  "run",
  ...(has(/^(-m|--model(=.*)?)$/) ? [] : ["--model", "offline/survey"]),
  ...(has(/^--dir(=.*)?$/) ? [] : ["--dir", root]),
  ...(given.length === 0 ? [survey] : given)
]
await import("../packages/cli/bin/skein.js")
