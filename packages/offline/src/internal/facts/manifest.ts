/** Reads package.json, pyproject.toml, setup.py and go.mod: names, descriptions and entry points. */
import { isTextNested } from "@skein/core/Nesting"
import * as Option from "effect/Option"
import { baseName, folderOf } from "../language.ts"
import type { Fact, SourceLine } from "../outputs.ts"
import { resolvePath } from "./imports.ts"

/** A manifest. `line` is the line of the name. */
export interface Manifest {
  readonly path: string
  readonly line: number
  readonly kind: "npm" | "python" | "go"
  /** Empty where the file gives none. */
  readonly name: string
  readonly description: Fact | undefined
  readonly entries: ReadonlyArray<Fact>
  /** Whether it is the root of a workspace. */
  readonly workspace: boolean
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

/** Refuses JSON that is nested too deeply to walk. */
const parseJson = (text: string): Option.Option<unknown> => isTextNested(text) ? Option.none() : readJson(text)

const readJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** The line of a key, at or below the line of its section. */
const lineOf = (lines: ReadonlyArray<SourceLine>, section: string | undefined, key: string): number => {
  const has = (name: string) => (at: SourceLine) => at.text.includes(`"${name}"`) && at.text.includes(":")
  const from = section === undefined ? 0 : Math.max(0, lines.findIndex(has(section)))
  return (lines.slice(from).find(has(key)) ?? lines[from])?.line ?? 1
}

/** The first path in an `exports` value. */
const firstPath = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (!isRecord(value)) return undefined
  return Object.entries(value).filter(([key]) => key !== "types").map(([, each]) => firstPath(each))
    .find((path) => path !== undefined)
}

/** Scripts that start something. */
const starters = ["start", "dev", "serve", "develop", "preview"]

const readPackage = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  const json = Option.getOrUndefined(parseJson(lines.map((at) => at.text).join("\n")))
  if (!isRecord(json)) return undefined
  const name = textOf(json["name"])
  const entry = (line: number, text: string): Fact => ({ path, line, text })
  // Paths in a manifest are relative to it; paths in the report are relative to the top.
  const fromTop = (file: string) => resolvePath(folderOf(path), file) ?? file
  const { bin, exports, scripts } = json
  const commands = typeof bin === "string"
    ? [entry(lineOf(lines, undefined, "bin"), `command ${name.split("/").at(-1) ?? name} -> ${fromTop(bin)}`)]
    : isRecord(bin)
    ? Object.entries(bin).map(([command, file]) =>
      entry(lineOf(lines, "bin", command), `command ${command} -> ${fromTop(textOf(file))}`)
    )
    : []
  const manager = isRecord(scripts)
    ? starters.flatMap((script) =>
      typeof scripts[script] === "string"
        ? [
          entry(
            lineOf(lines, "scripts", script),
            `npm ${script === "start" ? "" : "run "}${script} -> ${textOf(scripts[script])}`
          )
        ]
        : []
    )
    : []
  const main = isRecord(exports) && "." in exports
    ? firstPath(exports["."])
    : typeof exports === "string"
    ? exports
    : isRecord(exports)
    ? undefined
    : textOf(json["module"]) || textOf(json["main"]) || undefined
  const key = exports === undefined ? (textOf(json["module"]) === "" ? "main" : "module") : "exports"
  const library = main === undefined
    ? []
    : [entry(lineOf(lines, undefined, key), `library ${name} -> ${fromTop(main)}`.replace("  ", " "))]
  return {
    path,
    line: lineOf(lines, undefined, "name"),
    kind: "npm",
    name,
    description: textOf(json["description"]) === ""
      ? undefined
      : entry(lineOf(lines, undefined, "description"), textOf(json["description"])),
    entries: [...commands, ...manager, ...library],
    workspace: json["workspaces"] !== undefined
  }
}

const described = (path: string, at: { readonly line: number; readonly value: string } | undefined): Fact | undefined =>
  at === undefined || at.value === "" ? undefined : { path, line: at.line, text: at.value }

/** The `key = "text"` lines of a TOML file, each with its table. Other values are ignored. */
const tomlTexts = (lines: ReadonlyArray<SourceLine>) => {
  let table = ""
  return lines.flatMap(({ line, text }) => {
    const heading = /^\s*\[+([^\]]+)\]+\s*(#.*)?$/.exec(text)
    if (heading !== null) {
      table = (heading[1] ?? "").trim()
      return []
    }
    const pair = /^\s*["']?([\w.-]+)["']?\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(text)
    return pair === null ? [] : [{ table, key: pair[1] ?? "", value: pair[2] ?? pair[3] ?? "", line }]
  })
}

const readPyproject = (path: string, lines: ReadonlyArray<SourceLine>): Manifest => {
  const texts = tomlTexts(lines)
  const find = (key: string) =>
    texts.find((at) => (at.table === "project" || at.table === "tool.poetry") && at.key === key)
  const scripts = new Set(["project.scripts", "project.gui-scripts", "tool.poetry.scripts"])
  return {
    path,
    line: find("name")?.line ?? 1,
    kind: "python",
    name: find("name")?.value ?? "",
    description: described(path, find("description")),
    entries: texts.filter((at) => scripts.has(at.table))
      .map((at) => ({ path, line: at.line, text: `command ${at.key} -> ${at.value}` })),
    workspace: texts.some((at) => at.table.startsWith("tool.uv.workspace"))
  }
}

const readSetup = (path: string, lines: ReadonlyArray<SourceLine>): Manifest => {
  const find = (key: string) =>
    lines.flatMap((at) => {
      const match = new RegExp(`\\b${key}\\s*=\\s*["']([^"']+)["']`).exec(at.text)
      return match === null ? [] : [{ line: at.line, value: match[1] ?? "" }]
    })[0]
  return {
    path,
    line: find("name")?.line ?? 1,
    kind: "python",
    name: find("name")?.value ?? "",
    description: described(path, find("description")),
    entries: lines.flatMap((at) => {
      const match = /["']\s*([\w.-]+)\s*=\s*([\w.]+:\w+)\s*["']/.exec(at.text)
      return match === null ? [] : [{ path, line: at.line, text: `command ${match[1]} -> ${match[2]}` }]
    }),
    workspace: false
  }
}

const readGoMod = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  const at = lines.find(({ text }) => /^module\s+\S/.test(text))
  return at === undefined ? undefined : {
    path,
    line: at.line,
    kind: "go",
    name: at.text.split(/\s+/)[1] ?? "",
    description: undefined,
    entries: [],
    workspace: false
  }
}

/** Reads a manifest from its lines; undefined if it cannot be parsed. */
export const readManifest = (path: string, lines: ReadonlyArray<SourceLine>): Manifest | undefined => {
  switch (baseName(path)) {
    case "package.json":
      return readPackage(path, lines)
    case "pyproject.toml":
      return readPyproject(path, lines)
    case "setup.py":
      return readSetup(path, lines)
    case "go.mod":
      return readGoMod(path, lines)
    default:
      return undefined
  }
}

/** The folder of a manifest, as a module path. */
export const manifestFolder = (path: string): string => {
  const folder = folderOf(path)
  return folder === "" ? "./" : `${folder}/`
}
