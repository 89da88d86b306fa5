/** Owns the commands of a session, and the menu over the input: commands behind `/`, files and agents behind `@`. */
import { mentionOf } from "@skein/domain/Mention"
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import type { InputLine } from "../editor/InputLine.ts"
import { fuzzy, type Item, row } from "../list/Picker.ts"
import { type Run, wrapRuns } from "../text/runs.ts"
import type { Facts } from "./Facts.ts"

/** A command. */
interface BuiltinCommand {
  readonly name: string
  readonly summary: string
  /** What may follow it. */
  readonly takes?: string
}

/** The commands, in the order of the menu. */
export const builtins: ReadonlyArray<BuiltinCommand> = [
  { name: "help", summary: "Shows keys and commands" },
  { name: "new", summary: "Begins a new session" },
  { name: "resume", summary: "Continues another session", takes: "ID" },
  { name: "fork", summary: "Continues in a copy of this session" },
  { name: "rewind", summary: "Goes back to an earlier prompt, in a copy" },
  { name: "model", summary: "Chooses the model", takes: "MODEL" },
  { name: "agent", summary: "Chooses the agent", takes: "NAME" },
  { name: "mode", summary: "Chooses how much may happen without a question", takes: "plan|ask|edits|auto" },
  { name: "compact", summary: "Shortens the conversation that models are sent" },
  { name: "context", summary: "Shows how full the model's context is" },
  { name: "cost", summary: "Shows tokens and money of the tree" },
  { name: "tasks", summary: "Lists the tasks of this session" },
  { name: "tree", summary: "Opens the tree of agents" },
  { name: "agents", summary: "Lists the agents" },
  { name: "commands", summary: "Lists the commands of the project" },
  { name: "skills", summary: "Lists the skills" },
  { name: "mcp", summary: "Lists the MCP servers" },
  { name: "hooks", summary: "Lists the hooks" },
  { name: "permissions", summary: "Lists what was allowed permanently" },
  { name: "config", summary: "Shows the configuration and its origins" },
  { name: "doctor", summary: "Checks the installation" },
  { name: "diff", summary: "Shows the changes in the working directory" },
  { name: "copy", summary: "Copies the last answer" },
  { name: "export", summary: "Writes the session to a file", takes: "FILE" },
  { name: "rename", summary: "Gives the session another title", takes: "TITLE" },
  { name: "quit", summary: "Ends the program" }
]

/** What other programs call them. */
export const otherNames: Readonly<Record<string, string>> = {
  clear: "new",
  continue: "resume",
  exit: "quit",
  models: "model",
  sessions: "resume",
  status: "context",
  undo: "rewind",
  usage: "cost"
}

const keysOf: ReadonlyArray<readonly [key: string, does: string]> = [
  ["Enter", "sends; while the agent works, it reads the message at its next step"],
  ["Tab", "sends after the turn, while the agent works"],
  ["Shift+Enter, Alt+Enter, Ctrl+J, \\ Enter", "a new line"],
  ["Up, Down", "earlier prompts; on empty input, Up edits what was queued with Tab"],
  ["Ctrl+R", "finds an earlier prompt"],
  ["Esc", "interrupts the turn"],
  ["Esc Esc", "goes back to an earlier prompt, where nothing works and the input is empty"],
  ["Ctrl+C", "clears the input; twice quits"],
  ["Shift+Tab", "the next mode: plan, ask, edits"],
  ["Ctrl+T, or Down on empty input", "the tree of agents"],
  ["Ctrl+B", "moves the subagents to the background"],
  ["Ctrl+O", "opens what is folded, or else the whole transcript"],
  ["Ctrl+G", "opens $VISUAL or $EDITOR"],
  ["Ctrl+Z", "suspends the program; fg continues it"],
  ["Ctrl+A, Ctrl+E, Alt+B, Alt+F", "the beginning and end of the line, words"],
  ["Ctrl+W, Ctrl+U, Ctrl+K, Ctrl+Y", "deletes a word or to an end of the line, and inserts that again"],
  ["Alt+U, Alt+R", "undoes, and does again"],
  ["@name", "attaches a file, or asks for a subagent"],
  ["!command", "runs a command of yours, and shows it to the model with your next prompt"]
]

/** The lines of the help, at most so many columns wide. */
export const helpLines = (style: Style, project: Facts["commands"], columns: number): ReadonlyArray<string> => {
  const plain = undefined
  const wrapped = (...runs: ReadonlyArray<Run>) => wrapRuns(runs, columns, "", "      ")
  const command = (name: string, takes: string, summary: string) =>
    wrapped(
      { text: `  /${name}`, paint: style.cyan },
      { text: `${takes}  `, paint: plain },
      { text: summary, paint: style.dim }
    )
  return [
    style.bold("Keys"),
    ...keysOf.flatMap(([key, does]) =>
      wrapped({ text: `  ${key}`, paint: style.cyan }, { text: `  ${does}`, paint: plain })
    ),
    "",
    style.bold("Commands"),
    ...builtins.flatMap(({ name, summary, takes }) => command(name, takes === undefined ? "" : ` ${takes}`, summary)),
    ...project.flatMap(({ description = "", name }) => command(escapeLine(name), "", escapeLine(description))),
    "",
    ...wrapped({
      text: "A question is answered by an arrow or a digit and Enter. A letter never answers.",
      paint: plain
    })
  ]
}

/** What is being typed. */
interface Typing {
  readonly kind: "command" | "name"
  /** Where it begins in the input, its mark included. */
  readonly from: number
  readonly pattern: string
}

/** How many are shown at once. */
const most = 8

/** What is being typed at the cursor; undefined where nothing can be completed. */
const typingAt = (text: string, cursor: number): Typing | undefined => {
  const before = text.slice(0, cursor)
  const command = /^\/([^\s/]*)$/.exec(before)
  if (command !== null) return { kind: "command", from: 0, pattern: command[1] ?? "" }
  const name = /(?:^|\s)@([^\s@]*)$/.exec(before)
  return name === null ? undefined : { kind: "name", from: cursor - (name[1] ?? "").length - 1, pattern: name[1] ?? "" }
}

/** The menu that is open over the input. */
export class Menu {
  readonly typing: Typing
  readonly #items: ReadonlyArray<Item>
  #selected = 0

  constructor(typing: Typing, candidates: ReadonlyArray<Item>) {
    this.typing = typing
    this.#items = fuzzy(typing.pattern, candidates, ({ label }) => label)
  }

  /** How many match. */
  get count(): number {
    return this.#items.length
  }

  get selected(): Item | undefined {
    return this.#items[this.#selected]
  }

  move(step: number): void {
    const count = this.#items.length
    if (count > 0) this.#selected = (this.#selected + step + count) % count
  }

  lines(columns: number, rows: number, style: Style): ReadonlyArray<string> {
    const room = Math.max(1, Math.min(most, rows))
    const first = Math.max(0, Math.min(this.#selected - Math.floor(room / 2), this.#items.length - room))
    const shown = this.#items.slice(first, first + room)
    return [
      ...shown.map((item, at) => row(item, first + at === this.#selected, columns, style)),
      ...(shown.length === this.#items.length
        ? []
        : [style.dim(fit(`  ${this.#selected + 1} of ${this.#items.length}`, columns - 1))])
    ]
  }
}

const candidates = (kind: "command" | "name", { agents, commands, files = [] }: Facts): ReadonlyArray<Item> =>
  kind === "command"
    ? [
      ...builtins.map(({ name, summary }) => ({ value: name, label: name, detail: summary })),
      ...commands.map(({ description = "", name }) => ({ value: name, label: name, detail: description }))
    ]
    : [
      ...agents.map(({ description = "", name }) => ({ value: name, label: name, detail: `agent: ${description}` })),
      ...files.map((file) => ({ value: file, label: file }))
    ]

/** What can be completed in an input. */
export class Completion {
  readonly #input: InputLine
  readonly #facts: Facts
  #menu: Menu | undefined
  /** The text for which the menu was closed. */
  #dismissed: string | undefined
  /** Where the word begins for which the names of files were loaded again. */
  #missed: number | undefined

  constructor(input: InputLine, facts: Facts) {
    this.#input = input
    this.#facts = facts
  }

  get menu(): Menu | undefined {
    return this.#menu
  }

  close(): void {
    this.#menu = undefined
  }

  /** Takes a key: `taken` where it was for the menu, `send` where the input is complete with it. */
  press(key: Key): "taken" | "send" | undefined {
    const menu = this.#menu
    if (menu === undefined || key.type !== "key") return undefined
    switch (key.name) {
      case "up":
      case "down":
        menu.move(key.name === "up" ? -1 : 1)
        return "taken"
      case "escape":
        this.#dismissed = this.#input.text
        this.#menu = undefined
        return "taken"
      case "tab":
      case "enter":
        return menu.selected === undefined ? undefined : this.#complete(menu, menu.selected, key.name === "enter")
      default:
        return undefined
    }
  }

  /**
   * Looks at the input again; says whether the names of files have to be loaded: for the first time, or once for a word that
   * none of them matches, because files may have been made meanwhile.
   */
  update(): boolean {
    const { cursor, text } = this.#input
    const typing = text === this.#dismissed ? undefined : typingAt(text, cursor)
    if (text !== this.#dismissed) this.#dismissed = undefined
    const before = this.#menu?.typing
    if (typing === undefined) this.#menu = undefined
    else if (before?.pattern !== typing.pattern || before.kind !== typing.kind) {
      const menu = new Menu(typing, candidates(typing.kind, this.#facts))
      this.#menu = menu.count === 0 ? undefined : menu
    }
    if (typing?.kind !== "name") {
      this.#missed = undefined
      return false
    }
    if (this.#facts.files === undefined) return true
    if (this.#menu !== undefined || this.#missed === typing.from) return false
    this.#missed = typing.from
    return true
  }

  #complete({ typing }: Menu, { value }: Item, isEnter: boolean): "taken" | "send" | undefined {
    if (typing.kind === "name") {
      this.#input.replace(typing.from, `${mentionOf(value) ?? `@${value}`} `)
      return "taken"
    }
    if (isEnter && typing.pattern === value) return undefined
    this.#input.replace(typing.from, `/${value} `)
    const builtin = builtins.find(({ name }) => name === value)
    return isEnter && builtin !== undefined && builtin.takes === undefined ? "send" : "taken"
  }
}
