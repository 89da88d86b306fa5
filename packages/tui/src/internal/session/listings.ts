/** Lists what a project has, as full-screen views: in this process the program prints it, on a server the server tells it. */
import type { Backend } from "@skein/backend/Backend"
import type { BackendError } from "@skein/backend/BackendError"
import { formatRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { escapeLine, escapeText } from "../../Escape.ts"
import { widthOf } from "../../Width.ts"
import { Pager } from "../list/Pager.ts"
import { wrapRuns } from "../text/runs.ts"
import { type Acting, projectsOf } from "./Acting.ts"

const gap = "  "

/** How wide a column gets; longer cells push what follows to the right. */
const widest = 40

/** Lines of at most so many columns. The text is escaped. */
export const inColumns = (text: string, columns: number): ReadonlyArray<string> => {
  const rows = text.split("\n").map((line) => line.split("\t"))
  const widths: Array<number> = []
  for (const cells of rows) {
    for (const [index, cell] of cells.slice(0, -1).entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(widest, widthOf(cell)))
    }
  }
  return rows.flatMap((cells) => {
    const before = cells.slice(0, -1).map((cell, index) =>
      `${cell}${" ".repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cell)))}${gap}`
    )
    const indent = before.length === 0 ? "  " : gap.repeat(2)
    return wrapRuns([{ text: [...before, cells.at(-1) ?? ""].join(""), paint: undefined }], columns, "", indent)
  })
}

type Listing = (acting: Acting) => Effect.Effect<void, BackendError>

type Projects = (typeof Backend.Service)["projects"]

/** Lines with tabs between their cells; texts of the server are not escaped yet. */
type Told = (projects: Projects, directory: string) => Effect.Effect<ReadonlyArray<string>, BackendError>

const line = (...cells: ReadonlyArray<string | undefined>): string =>
  cells.map((cell = "") => escapeLine(cell.replaceAll("\t", " "))).join("\t")

const show = ({ model, size, touch }: Acting, title: string, lines: ReadonlyArray<string>, none: string) =>
  Effect.sync(() => {
    model.views.page(new Pager(title, inColumns(lines.length === 0 ? none : lines.join("\n"), size().columns - 1)))
    touch()
  })

/** What another command of the program prints; `none` stands for no lines. */
export const printed = (
  title: string,
  args: ReadonlyArray<string>,
  isShown = (_line: string): boolean => true,
  none = "Nothing."
): Listing =>
(acting) =>
  Effect.flatMap(acting.host.program(acting.model.facts.directory, args), (text) => {
    const lines = escapeText(text).trimEnd().split("\n").filter((each) => each !== "" && isShown(each))
    const isEmpty = lines.every((each) => each.startsWith("skein:"))
    return show(acting, title, isEmpty ? [none, ...lines] : lines, none)
  })

/** What the server tells; in this process, what the program prints. */
const of = (title: string, here: Listing, told: Told, none: string): Listing => (acting) =>
  acting.backend.where._tag === "Local"
    ? here(acting)
    : Effect.flatMap(
      told(projectsOf(acting), acting.model.facts.directory),
      (lines) => show(acting, `${title} on the server`, lines, none)
    )

/** The lines of the config about some keys, and what is ignored or wrong in the files. */
const configLines = (isShown: (key: string) => boolean, none: string): Told => (projects, directory) =>
  Effect.map(projects.config?.(directory) ?? Effect.succeed({ values: [], remarks: [] }), ({ remarks, values }) => [
    ...(values.some(({ key }) => isShown(key)) ? [] : [none]),
    ...values.flatMap(({ key, origin, value }) =>
      isShown(key) ? [line(key, typeof value === "string" ? value : JSON.stringify(value), origin)] : []
    ),
    ...remarks.map((remark) => line(`skein: ${remark}`))
  ])

const agents: Told = (projects, directory) =>
  Effect.map(
    projects.agents(directory),
    (found) =>
      found.agents.filter(({ hidden }) => !hidden).map(({ description, mode, model, name, origin }) =>
        line(
          name === found.defaultAgent ? `${name} (default)` : name,
          mode,
          model.length === 0 ? "-" : model.map(formatRef).join(", "),
          origin,
          description
        )
      )
  )

const commands: Told = (projects, directory) =>
  Effect.map(projects.commands(directory), ({ broken, items }) => [
    ...items.map(({ agent = "-", description, name, origin }) => line(name, agent, origin, description)),
    ...broken.map(({ message }) => line(`skein: ${message}`))
  ])

const skills: Told = (projects, directory) =>
  Effect.map(projects.skills(directory), ({ broken, items }) => [
    ...items.map(({ description, name, origin }) => line(name, origin, description)),
    ...broken.map(({ message }) => line(`skein: ${message}`))
  ])

/** The lines of `skein config` about a key. */
const configured = (title: string, key: string, none: string): Listing => {
  const isAbout = (each: string) => each.startsWith(`${key}.`)
  const here = printed(title, ["config", "--full"], (each) => isAbout(each) || each.startsWith("skein:"), none)
  return of(title, here, configLines(isAbout, none), none)
}

/** The listings by the names of their commands. */
export const listings: Readonly<Record<string, Listing>> = {
  agents: of("Agents", printed("Agents", ["agents"]), agents, "There are no agents."),
  commands: of("Commands", printed("Commands", ["commands"]), commands, "There are no commands."),
  skills: of("Skills", printed("Skills", ["skills"]), skills, "There are no skills."),
  hooks: configured("Hooks", "hooks", "No hooks are configured. See docs/hooks.md."),
  config: of(
    "Configuration",
    printed("Configuration", ["config"]),
    configLines(() => true, "Nothing is configured."),
    "Nothing is configured."
  ),
  // The server is named: another one may hold the database of this machine.
  permissions: (acting) => {
    const { where } = acting.backend
    const [title, ...attach] = where._tag === "Local"
      ? ["Permanent approvals"]
      : ["Permanent approvals on the server", `--attach=${where.url}`]
    return printed(title ?? "", ["permissions", ...attach])(acting)
  }
}
