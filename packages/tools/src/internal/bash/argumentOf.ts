/** Reads a word of a command, and the output of a substitution in it if that is known. */
import type { SyntaxNode, Word, WordPart } from "unbash"
import { outputOf } from "./outputs.ts"
import { type Argument, readWord } from "./words.ts"

type Command = Extract<SyntaxNode, { type: "Command" }>

const isQuiet = (node: Command["suffix"][number]): boolean =>
  node.type === "Redirect" && node.descriptor?.type === "FileDescriptor" && node.descriptor.value === 2

/** The words of a simple command that sets nothing, and redirects nothing but its errors. */
export const plainWords = (node: SyntaxNode): ReadonlyArray<Argument> | undefined => {
  if (node.type !== "Command" || node.name === undefined || node.prefix.length > 0) return undefined
  const rest = node.suffix.filter((each) => !isQuiet(each))
  return rest.every((each) => each.type === "Word") ? [node.name, ...rest].map(readWord) : undefined
}

/** The simple commands of a pipeline, or a single one. */
const pipelineOf = (part: WordPart): ReadonlyArray<ReadonlyArray<Argument>> | undefined => {
  const only = part.type === "CommandExpansion" ? part.script?.commands : undefined
  if (only?.length !== 1 || only[0] === undefined || only[0].background === true) return undefined
  const { command } = only[0]
  const isPlain = command.type === "Pipeline" && command.prefixes.length === 0 &&
    command.operators.every((operator) => operator === "|")
  const commands = (isPlain ? command.commands : [command]).map(plainWords)
  return commands.every((words) => words !== undefined) ? commands : undefined
}

/** Reads a word. */
export const argumentOf = (word: Word): Argument => {
  const argument = readWord(word)
  const [part, ...others] = argument.fixed ? [] : word.parts ?? []
  if (part === undefined || others.length > 0) return argument
  // This is the path of a descriptor, whatever its command writes.
  if (part.type === "ProcessSubstitution") return { ...argument, output: { kind: "word" } }
  const [quoted, ...more] = part.type === "DoubleQuoted" ? part.parts : []
  const commands = pipelineOf(more.length === 0 && quoted !== undefined ? quoted : part)
  const output = commands === undefined ? undefined : outputOf(commands)
  // Between quotes, all lines become one argument.
  if (output === undefined || (quoted !== undefined && output.kind === "paths")) return argument
  return { ...argument, output }
}
