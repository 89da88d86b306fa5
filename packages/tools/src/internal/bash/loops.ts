/** Replaces the variable of a loop with the loop's words, if nothing else can change the variable. */
import type { Line, Loop, SimpleCommand } from "./readLine.ts"
import type { Argument } from "./words.ts"

/** The maximum number of commands that one command is expanded to. */
const maximumCommands = 64

/** Commands that set variables by name. */
const setters = new Set(
  `. declare eval export getopts let local mapfile printf read readarray readonly set source trap typeset unset wait`
    .split(/\s+/)
)

/** The variables that a line sets only at the head of one loop. */
const steady = ({ commands, settings }: Line): ReadonlySet<string> => {
  const sets = ({ heads, settings: own, words }: SimpleCommand) =>
    heads !== true && (own.length > 0 ||
      words.some(({ text }, at) =>
        setters.has(text) && (text !== "printf" || words.slice(at).some((each) => each.text.startsWith("-v")))
      ))
  if (commands.some(sets)) return new Set()
  const once = new Set<string>()
  const again = new Set<string>()
  for (const { name } of settings) (once.has(name) ? again : once).add(name)
  return new Set([...once].filter((name) => !again.has(name)))
}

/** The possible values of a word that is only a variable; `undefined` for any other word. */
const meaning = ({ source }: Argument, loops: ReadonlyArray<Loop>): Loop | undefined => {
  const [, quote, plain, braced] = /^("?)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})\1$/.exec(source) ?? []
  const loop = loops.find(({ name }) => name === (plain ?? braced))
  // Without quotes, the shell splits the value, and looks for matching files.
  const known = quote === "\"" ||
    loop?.words.every(({ fixed, output, text }) => output !== undefined || (fixed && /^[\w./:@%+,=-]+$/.test(text)))
  return known === true ? loop : undefined
}

const replaced = (command: SimpleCommand, names: ReadonlySet<string>): ReadonlyArray<SimpleCommand> => {
  const loops = command.loops.filter(({ name }) => names.has(name))
  let made: ReadonlyArray<SimpleCommand> = [command]
  for (const loop of loops) {
    const isMeant = (word: Argument) => meaning(word, loops) === loop
    if (!command.words.some(isMeant)) continue
    if (made.length * loop.words.length > maximumCommands) return [command]
    made = made.flatMap((each) =>
      loop.words.map((value) => ({ ...each, words: each.words.map((word) => isMeant(word) ? value : word) }))
    )
  }
  return made
}

/** The commands of a line. A command in a loop appears once for each word of the loop. */
export const eachOf = (line: Line): ReadonlyArray<SimpleCommand> => {
  if (line.commands.every(({ loops }) => loops.length === 0)) return line.commands
  const names = steady(line)
  return line.commands.flatMap((command) => replaced(command, names))
}
