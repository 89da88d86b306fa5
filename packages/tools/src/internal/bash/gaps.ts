/**
 * Decides what may stand between the parts of a compound node: the operators and keywords of bash's grammar, and
 * nothing else.
 */
import type { CompoundList, Statement, SyntaxNode } from "unbash"

/**
 * The parts of a node, and the tokens before, between and after them. `N` is a line end. Each token is followed by a
 * blank.
 */
export interface Gaps {
  readonly parts: ReadonlyArray<SyntaxNode>
  readonly gaps: ReadonlyArray<string>
}

const lines = "(?:N )*"

/** What may end a list before an operator that ends it anyway. */
const maybe = `(?:; )?${lines}`

const begins = `(?:do|\\{) ${lines}`

const isBackground = (statement: Statement | undefined): boolean => statement?.background === true

/** What has to end a list before a keyword, which would be an argument otherwise. */
const ended = ({ commands }: CompoundList): string => isBackground(commands.at(-1)) ? lines : `(?:; ${lines}|(?:N )+)`

const escaped = (operator: string): string => `${operator.replaceAll("|", "\\|")} `

/** What separates statements that have something around them. */
export const statements = (list: ReadonlyArray<Statement>): ReadonlyArray<string> =>
  list.slice(1).map((_, at) => (isBackground(list[at]) ? lines : `(?:; ${lines}|(?:N )+)`))

/** As many gaps without a token. */
const none = (count: number): ReadonlyArray<string> => Array.from({ length: count }, () => "")

const joined = (
  commands: ReadonlyArray<SyntaxNode>,
  operators: ReadonlyArray<string>,
  before: ReadonlyArray<SyntaxNode> = []
): Gaps => ({
  parts: [...before, ...commands],
  gaps: [...none(before.length + 1), ...operators.map((operator) => escaped(operator) + lines), ""]
})

const loop = (word: string, { body, name, wordlist }: Extract<SyntaxNode, { type: "For" | "Select" }>): Gaps => {
  const before = wordlist === undefined
    ? [`(?:; )?${lines}${begins}`]
    : wordlist.length === 0
    ? [`${lines}in (?:; |N )${lines}${begins}`]
    : [`${lines}in `, ...none(wordlist.length - 1), `(?:; |N )${lines}${begins}`]
  return { parts: [name, ...wordlist ?? [], body], gaps: [`${word} `, ...before, `${ended(body)}(?:done|\\}) `] }
}

const branches = (node: Extract<SyntaxNode, { type: "If" }>): Gaps => {
  const lists = [node.then, ...node.elif.map(({ then }) => then), ...node.else === undefined ? [] : [node.else]]
  const between = lists.slice(1).map((list, at) =>
    ended(lists[at] as CompoundList) + (list === node.else ? `else ${lines}` : "")
  )
  return {
    parts: [node.clause, node.then, ...node.elif, ...node.else === undefined ? [] : [node.else]],
    gaps: [`if ${lines}`, `${ended(node.clause)}then ${lines}`, ...between, `${ended(lists.at(-1) as CompoundList)}fi `]
  }
}

const cases = ({ items, word }: Extract<SyntaxNode, { type: "Case" }>): Gaps => {
  const last = items.at(-1)
  const end = last === undefined
    ? `${lines}in ${lines}`
    : last.terminator === undefined && last.body.commands.length > 0
    ? ended(last.body)
    : lines
  const before = items.map((_, at) => at === 0 ? `${lines}in ${lines}` : lines)
  return { parts: [word, ...items], gaps: ["case ", ...before, `${end}esac `] }
}

const item = ({ body, pattern, terminator }: Extract<SyntaxNode, { type: "CaseItem" }>): Gaps => {
  const first = ["(?:\\( )?", ...pattern.slice(1).map(() => "\\| ")]
  const end = terminator === undefined ? "" : `${maybe}${escaped(terminator)}`
  return body.commands.length === 0
    ? { parts: pattern, gaps: [...first, `\\) ${lines}${end}`] }
    : { parts: [...pattern, body], gaps: [...first, `\\) ${lines}`, end] }
}

/** What may stand between the parts of a node; `undefined` for a node that is checked character by character. */
export const gapsOf = (node: SyntaxNode): Gaps | undefined => {
  switch (node.type) {
    case "CompoundList":
      return { parts: node.commands, gaps: ["", ...statements(node.commands), ""] }
    case "Statement":
      return { parts: [node.command], gaps: ["", isBackground(node) ? "& " : ""] }
    case "AndOr":
      return joined(node.commands, node.operators)
    case "Pipeline":
      return joined(node.commands, node.operators, node.prefixes)
    case "Redirected":
      return { parts: [node.command, ...node.redirects], gaps: none(node.redirects.length + 2) }
    case "If":
      return branches(node)
    case "Elif":
      return { parts: [node.clause, node.then], gaps: [`elif ${lines}`, `${ended(node.clause)}then ${lines}`, ""] }
    case "For":
      return loop("for", node)
    case "Select":
      return loop("select", node)
    case "While":
      return {
        parts: [node.clause, node.body],
        gaps: [`${node.kind} ${lines}`, `${ended(node.clause)}do ${lines}`, `${ended(node.body)}done `]
      }
    case "Function":
      return { parts: [node.name, node.body], gaps: ["(?:function )?", `(?:\\( \\) )?${lines}`, ""] }
    case "Coproc":
      return {
        parts: node.name === undefined ? [node.body] : [node.name, node.body],
        gaps: ["coproc ", ...none(node.name === undefined ? 1 : 2)]
      }
    case "Subshell":
      return { parts: [node.body], gaps: [`\\( ${lines}`, `${maybe}\\) `] }
    case "BraceGroup":
      return { parts: [node.body], gaps: [`\\{ ${lines}`, `${ended(node.body)}\\} `] }
    case "Case":
      return cases(node)
    case "CaseItem":
      return item(node)
    case "TestCommand":
      return { parts: [node.expression], gaps: [`\\[\\[ ${lines}`, `${lines}\\]\\] `] }
    case "TestGroup":
      return { parts: [node.expression], gaps: [`\\( ${lines}`, `${lines}\\) `] }
    case "TestNot":
      return { parts: [...node.negations, node.operand], gaps: none(node.negations.length + 2) }
    case "TestLogical":
      return {
        parts: node.operands,
        gaps: ["", ...node.operands.slice(1).map(() => `${lines}${escaped(node.operator)}${lines}`), ""]
      }
    case "ArrayValue":
      return {
        parts: node.elements,
        gaps: node.elements.length === 0
          ? [`\\( ${lines}\\) `]
          : [`\\( ${lines}`, ...node.elements.slice(1).map(() => lines), `${lines}\\) `]
      }
    default:
      return undefined
  }
}
