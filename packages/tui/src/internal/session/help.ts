/** What /help shows: the keys, and the commands. */
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { builtins } from "../model/builtins.ts"
import type { Facts } from "../model/Facts.ts"
import { type Run, wrapRuns } from "../text/runs.ts"

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
