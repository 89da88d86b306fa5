/** Finds the table of a call: by its program, and if that has subcommands, by both. */
import { scriptArguments } from "./packageManagers.ts"
import { type Call, type CallWord, type Named, readCall } from "./readCall.ts"
import { type Table, tableOf } from "./table.ts"
import { generated } from "./tables/generated.ts"
import { written } from "./tables/written.ts"

/** Programs with subcommands, each of which has its own table. */
const divided = new Set(["cargo", "git", "go"])

const compiler = /^(?:[\w.]+-)*(gcc|g\+\+|clang|clang\+\+|cc|c\+\+)(?:-\d+(?:\.\d+)*)?$/

/** The name of a program in the tables. A name with a version counts as the program itself. */
export const nameInTables = (program: string): string => {
  const name = program.slice(program.lastIndexOf("/") + 1)
  return compiler.exec(name)?.[1] ?? name
}

/** Whether a program has subcommands, which have to be in the tables. */
export const hasSubcommands = (name: string): boolean => divided.has(name)

/** The table of a program, or of one of its subcommands. */
export const tableFor = (name: string): Table | undefined => {
  const source = written[name] ?? generated[name]
  return source === undefined || !(Object.hasOwn(written, name) || Object.hasOwn(generated, name))
    ? undefined
    : tableOf(source)
}

/** What is known about a call: the name of its table, the table, and how it describes the arguments. */
export interface KnownCall<Word> {
  readonly name: string
  readonly table: Table
  readonly call: Call<Word>
}

/** Parses a call whose program is in the tables. `undefined` if it is not, or if its subcommand is not. */
export const knownCall = <Word extends CallWord>(
  program: string,
  args: ReadonlyArray<Word>
): KnownCall<Word> | undefined => {
  const base = nameInTables(program)
  const [first] = args
  const isDivided = divided.has(base)
  if (isDivided && first?.fixed !== true) return undefined
  const name = isDivided ? `${base} ${first?.text}` : base
  const table = tableFor(name)
  if (table === undefined) return undefined
  const own = scriptArguments(name, args.map(({ text }) => text)) ?? args.length
  const call = readCall(table, isDivided ? args.slice(1) : args.slice(0, own))
  const passed = args.slice(own).map((word): Named<Word> => ({ word, text: word.text, kind: "text", operand: true }))
  return { name, table, call: { ...call, named: [...call.named, ...passed] } }
}
