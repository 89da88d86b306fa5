/** Owns the commands of a session, and what /help shows. */
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
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
