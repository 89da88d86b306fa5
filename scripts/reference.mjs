// @ts-check
// `npm run reference` writes docs/reference.md from the tables of the code: commands, config, events, errors, exit codes, tools.
// With `--check` it writes nothing, and fails when the file is stale. `--file` names another file, for tests.
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "./layout.mjs"
import { commandsPart } from "./reference/commands.mjs"
import { configPart } from "./reference/config.mjs"
import { docsOf, errorsOf } from "./reference/source.mjs"
import { table } from "./reference/table.mjs"
import { toolsPart } from "./reference/tools.mjs"

const { values } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    file: { type: "string", default: join(root, "docs", "reference.md") }
  }
})

const exitCodesPart = () => {
  const docs = docsOf(join(root, "packages", "cli", "src", "ExitCode.ts"), "ExitCode")
  return [
    "## Exit codes",
    table(["code", "meaning"], [
      ...docs.map(({ doc, value }) => [value, doc]),
      ["`130`", "Interrupted by Ctrl-C."],
      ["`143`", "Ended by SIGTERM."]
    ])
  ]
}

const eventsPart = async () => {
  const { ephemeral, properties } = await import("@skein/domain/Event")
  const docs = new Map(
    docsOf(join(root, "packages", "domain", "src", "Event.ts"), "properties").map((
      { doc, name }
    ) => [name, doc])
  )
  return [
    "## Events",
    "`skein run --format json` prints one event per line, and `Bus.subscribe` streams them. Each has `type`, `timestamp`, `sessionID`, `rootID`, `parentID`, `depth` and `properties`. Stored events also have `seq`, which numbers the events of a tree from 1 without a gap. Events marked with `~` are not stored.",
    table(
      ["event", "properties", "meaning"],
      Object.entries(properties).map(([type, schema]) => [
        `\`${type}\`${ephemeral.has(/** @type {never} */ (type)) ? " ~" : ""}`,
        Object.keys(schema.fields).map((name) => `\`${name}\``).join(", "),
        docs.get(type) ?? ""
      ])
    )
  ]
}

const errorsPart = () => [
  "## Errors",
  "Typed errors of the libraries. Each has a `message` that says what happened, where, and how to fix it.",
  table(
    ["error", "import", "meaning"],
    ["core", "provider", "offline", "storage", "config", "tools", "server", "client", "testing"].flatMap((name) => {
      const source = join(root, "packages", name, "src")
      return readdirSync(source).filter((entry) => entry.endsWith(".ts")).toSorted().flatMap((entry) =>
        errorsOf(join(source, entry)).map(({ doc, name: error }) => [
          `\`${error}\``,
          `\`@skein/${name}/${entry.slice(0, -3)}\``,
          doc
        ])
      )
    })
  )
]

const parts = [
  "# Reference",
  "<!-- Written by `npm run reference` from the tables of the code. Change those instead. -->",
  "Contents: [commands](#commands), [exit codes](#exit-codes), [config](#config), [tools](#tools), [events](#events), [errors](#errors).",
  ...await commandsPart(),
  ...exitCodesPart(),
  ...await configPart(),
  ...await toolsPart(),
  ...await eventsPart(),
  ...errorsPart()
]
const text = `${parts.join("\n\n")}\n`

if (!values.check) writeFileSync(values.file, text)
else if (readFileSync(values.file, "utf8") !== text) {
  console.log(`${values.file} is stale: the tables of the code have changed. Run: npm run reference`)
  process.exitCode = 1
}
