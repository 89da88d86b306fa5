// @ts-check
// `node scripts/programTables.mjs [--write]`: makes the tables of options from what the programs of this machine say in their
// help, without those that `programs/harmless.mjs` leaves out. Says what changes; writes it with `--write`. Programs that are
// not there keep the table that they have.
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "./layout.mjs"
import { programs } from "./programs/harmless.mjs"

const file = join(root, "packages", "tools", "src", "internal", "programs", "tables", "generated.ts")

/** @param {string | undefined} text */
const words = (text) => (text ?? "").split(/\s+/).filter((each) => each !== "")

/** What one line of a help says of options, in the notation of tables. @param {string} line */
const optionsOf = (line) => {
  const [, list = ""] = /^\s{0,10}(-.*?)(?:\s{2,}(?!--)|$)/.exec(line.replace(/,\s+(?=-)/g, ", ")) ?? []
  const found = list.split(/, (?=-)|\s+(?=--[a-z])/).flatMap((each) => {
    const [, name = "", rest = ""] = /^(--?(?:\[no-\])?[A-Za-z0-9][\w-]*|-[0-9A-Za-z#@:?])(.*)$/.exec(each.trim()) ?? []
    const plain = rest.replace(/\.\.\.$/, "").replace(/\s+\(.*$/, "")
    if (name === "" || /^-[A-Z]{2,}$/.test(name)) return []
    // `--check=quiet` says what another option stands for.
    const takes = /^=[a-z]/.test(plain) ? "=" : plain === "" ? "" : plain.startsWith("[") ? "?" : ":"
    return [{ name, takes }]
  })
  const isShort = (/** @type {{ name: string }} */ { name }) => !name.startsWith("--")
  const long = found.find((each) => !isShort(each) && each.takes !== "")?.takes ?? ""
  // A short name takes what the long one has to be given, unless the line says what some short name takes.
  const shares = long === ":" && !found.some((each) => isShort(each) && each.takes !== "")
  return found.flatMap(({ name, takes }) => {
    if (takes === "=") return []
    if (name.includes("[no-]")) {
      return [{ name: name.replace("[no-]", ""), takes }, { name: name.replace("[no-]", "no-"), takes: "" }]
    }
    return [{
      name,
      takes: takes === "" && !name.startsWith("--") && shares
        ? ":"
        : takes === "" && name.startsWith("--") && long === "" &&
            found.some((each) => isShort(each) && each.takes === ":")
        ? ":"
        : takes
    }]
  })
}

/** @param {string} name @param {import("./programs/harmless.mjs").Program} program */
const tableOf = (name, { add, head, help, kinds, omit }) => {
  const [command = "", ...own] = name.split(" ")
  const args = help ?? (command === "git" ? [...own, "-h"] : [...own, "--help"])
  const { error, stderr, stdout } = spawnSync(command, help === undefined ? args : [...own, ...help], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", COLUMNS: "200" }
  })
  if (error !== undefined) return undefined
  const left = new Set(words(omit))
  const special = new Map(words(kinds).map((each) => [each.replace(/[:?*<>/]?[!^.]*$/, ""), each]))
  const found = new Map()
  for (const { name: option, takes } of `${stdout}\n${stderr}`.split("\n").flatMap(optionsOf)) {
    if (left.has(option) || /^--(?:help|version)$/.test(option) || found.has(option)) continue
    found.set(option, special.get(option) ?? option + takes)
  }
  for (const each of words(add)) found.set(each.replace(/[:?*<>/]?[!^.]*$/, ""), each)
  return `[${head}] ${[...found.values()].toSorted().join(" ")}`
}

const { generated: before } = await import(pathToFileURL(file).href)
const after = Object.fromEntries(
  Object.entries(programs).map(([name, program]) => [name, tableOf(name, program) ?? before[name]]).filter((
    [, table]
  ) => table !== undefined)
)
for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
  if (before[name] !== after[name]) console.log(`${name}\n  - ${before[name] ?? ""}\n  + ${after[name] ?? ""}`)
}
if (process.argv.includes("--write")) {
  const rows = Object.entries(after).map(([name, table]) =>
    `  ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: ${JSON.stringify(table)}`
  )
  const about =
    "/** Options of programs that are known to be harmless: `node scripts/programTables.mjs --write` makes them. */"
  writeFileSync(
    file,
    `${about}\nexport const generated: Readonly<Record<string, string>> = {\n${rows.join(",\n")}\n}\n`
  )
}
