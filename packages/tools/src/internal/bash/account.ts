/**
 * Checks a parse against its text, by rules that need no parser. Every character has to belong to exactly one token,
 * and only blanks, comments and the tokens of a node may stand between its parts. If the parser overlooked something,
 * for whatever reason, characters are left over.
 */
import type { CompoundList, HereDoc, Script, Statement, SyntaxNode, Word, WordPart } from "unbash"

/**
 * The parts of a node, and the tokens before, between and after them. `N` is a line end. Each token is followed by a
 * blank.
 */
interface Gaps {
  readonly parts: ReadonlyArray<SyntaxNode>
  readonly gaps: ReadonlyArray<string>
}

const lineEnds = "(?:N )*"

/** What may end a list before an operator that ends it anyway. */
const maybe = `(?:; )?${lineEnds}`

const begins = `(?:do|\\{) ${lineEnds}`

const isBackground = (statement: Statement | undefined): boolean => statement?.background === true

/** What has to end a list before a keyword, which would be an argument otherwise. */
const ended = ({ commands }: CompoundList): string =>
  isBackground(commands.at(-1)) ? lineEnds : `(?:; ${lineEnds}|(?:N )+)`

const escaped = (operator: string): string => `${operator.replaceAll("|", "\\|")} `

/** What separates statements that have something around them. */
const statements = (list: ReadonlyArray<Statement>): ReadonlyArray<string> =>
  list.slice(1).map((_, at) => (isBackground(list[at]) ? lineEnds : `(?:; ${lineEnds}|(?:N )+)`))

/** As many gaps without a token. */
const none = (count: number): ReadonlyArray<string> => Array.from({ length: count }, () => "")

const operated = (
  commands: ReadonlyArray<SyntaxNode>,
  operators: ReadonlyArray<string>,
  before: ReadonlyArray<SyntaxNode> = []
): Gaps => ({
  parts: [...before, ...commands],
  gaps: [...none(before.length + 1), ...operators.map((operator) => escaped(operator) + lineEnds), ""]
})

const loop = (word: string, { body, name, wordlist }: Extract<SyntaxNode, { type: "For" | "Select" }>): Gaps => {
  const before = wordlist === undefined
    ? [`(?:; )?${lineEnds}${begins}`]
    : wordlist.length === 0
    ? [`${lineEnds}in (?:; |N )${lineEnds}${begins}`]
    : [`${lineEnds}in `, ...none(wordlist.length - 1), `(?:; |N )${lineEnds}${begins}`]
  return { parts: [name, ...wordlist ?? [], body], gaps: [`${word} `, ...before, `${ended(body)}(?:done|\\}) `] }
}

const branches = (node: Extract<SyntaxNode, { type: "If" }>): Gaps => {
  const lists = [node.then, ...node.elif.map(({ then }) => then), ...node.else === undefined ? [] : [node.else]]
  const between = lists.slice(1).map((list, at) =>
    ended(lists[at] as CompoundList) + (list === node.else ? `else ${lineEnds}` : "")
  )
  return {
    parts: [node.clause, node.then, ...node.elif, ...node.else === undefined ? [] : [node.else]],
    gaps: [
      `if ${lineEnds}`,
      `${ended(node.clause)}then ${lineEnds}`,
      ...between,
      `${ended(lists.at(-1) as CompoundList)}fi `
    ]
  }
}

const cases = ({ items, word }: Extract<SyntaxNode, { type: "Case" }>): Gaps => {
  const last = items.at(-1)
  const end = last === undefined
    ? `${lineEnds}in ${lineEnds}`
    : last.terminator === undefined && last.body.commands.length > 0
    ? ended(last.body)
    : lineEnds
  const before = items.map((_, at) => at === 0 ? `${lineEnds}in ${lineEnds}` : lineEnds)
  return { parts: [word, ...items], gaps: ["case ", ...before, `${end}esac `] }
}

const item = ({ body, pattern, terminator }: Extract<SyntaxNode, { type: "CaseItem" }>): Gaps => {
  const first = ["(?:\\( )?", ...pattern.slice(1).map(() => "\\| ")]
  const end = terminator === undefined ? "" : `${maybe}${escaped(terminator)}`
  return body.commands.length === 0
    ? { parts: pattern, gaps: [...first, `\\) ${lineEnds}${end}`] }
    : { parts: [...pattern, body], gaps: [...first, `\\) ${lineEnds}`, end] }
}

/** What may stand between the parts of a node; `undefined` for a node that is checked character by character. */
const gapsOf = (node: SyntaxNode): Gaps | undefined => {
  switch (node.type) {
    case "CompoundList":
      return { parts: node.commands, gaps: ["", ...statements(node.commands), ""] }
    case "Statement":
      return { parts: [node.command], gaps: ["", isBackground(node) ? "& " : ""] }
    case "AndOr":
      return operated(node.commands, node.operators)
    case "Pipeline":
      return operated(node.commands, node.operators, node.prefixes)
    case "Redirected":
      return { parts: [node.command, ...node.redirects], gaps: none(node.redirects.length + 2) }
    case "If":
      return branches(node)
    case "Elif":
      return {
        parts: [node.clause, node.then],
        gaps: [`elif ${lineEnds}`, `${ended(node.clause)}then ${lineEnds}`, ""]
      }
    case "For":
      return loop("for", node)
    case "Select":
      return loop("select", node)
    case "While":
      return {
        parts: [node.clause, node.body],
        gaps: [`${node.kind} ${lineEnds}`, `${ended(node.clause)}do ${lineEnds}`, `${ended(node.body)}done `]
      }
    case "Function":
      return { parts: [node.name, node.body], gaps: ["(?:function )?", `(?:\\( \\) )?${lineEnds}`, ""] }
    case "Coproc":
      return {
        parts: node.name === undefined ? [node.body] : [node.name, node.body],
        gaps: ["coproc ", ...none(node.name === undefined ? 1 : 2)]
      }
    case "Subshell":
      return { parts: [node.body], gaps: [`\\( ${lineEnds}`, `${maybe}\\) `] }
    case "BraceGroup":
      return { parts: [node.body], gaps: [`\\{ ${lineEnds}`, `${ended(node.body)}\\} `] }
    case "Case":
      return cases(node)
    case "CaseItem":
      return item(node)
    case "TestCommand":
      return { parts: [node.expression], gaps: [`\\[\\[ ${lineEnds}`, `${lineEnds}\\]\\] `] }
    case "TestGroup":
      return { parts: [node.expression], gaps: [`\\( ${lineEnds}`, `${lineEnds}\\) `] }
    case "TestNot":
      return { parts: [...node.negations, node.operand], gaps: none(node.negations.length + 2) }
    case "TestLogical":
      return {
        parts: node.operands,
        gaps: ["", ...node.operands.slice(1).map(() => `${lineEnds}${escaped(node.operator)}${lineEnds}`), ""]
      }
    case "ArrayValue":
      return {
        parts: node.elements,
        gaps: node.elements.length === 0
          ? [`\\( ${lineEnds}\\) `]
          : [`\\( ${lineEnds}`, ...node.elements.slice(1).map(() => lineEnds), `${lineEnds}\\) `]
      }
    default:
      return undefined
  }
}

/** The context of literal text. */
type Place = "plain" | "quoted" | "document" | "braced" | "bracedQuoted" | "pattern"

// A dollar sign is literal if nothing follows that it could begin. A line end after a backslash does not count.
const dollar = String.raw`\$(?![\w{(\[@*#?!$-]|\\\n)`

const bareDollar = String.raw`\$(?![\w{(\['"@*#?!$-]|\\\n)`

const texts: Readonly<Record<Place, RegExp>> = {
  plain: new RegExp(String.raw`(?:\\[^]|[^ \t\n\\'"${"`"}$;&|<>()]|${bareDollar})*`, "y"),
  quoted: new RegExp(String.raw`(?:\\[^]|[^\\"${"`"}$]|${dollar})*`, "y"),
  document: new RegExp(String.raw`(?:\\[^]|[^\\${"`"}$]|${dollar})*`, "y"),
  braced: new RegExp(String.raw`(?:\\[^]|[<>](?!\()|[^\\'"${"`"}$}<>]|${bareDollar})*`, "y"),
  bracedQuoted: new RegExp(String.raw`(?:\\[^]|[^\\"${"`"}$}]|${dollar})*`, "y"),
  pattern: new RegExp(String.raw`(?:\\[^]|[^ \t\n\\'"${"`"}$;&<>]|${bareDollar})*`, "y")
}

/** Whether all characters of a range are literal. */
const isInert = (text: string, from: number, to: number, place: Place): boolean => {
  const signs = texts[place]
  signs.lastIndex = from
  return from + (signs.exec(text)?.[0].length ?? 0) >= to
}

/** The value of literal text. The shell removes backslashes; quotes keep most of them. */
const saidBy = (text: string, place: Place): string =>
  place === "plain" || place === "pattern" || place === "braced"
    ? text.replace(/\\(?:\n|([^]))/g, "$1")
    : text.replace(place === "document" ? /\\(?:\n|([\\`$]))/g : /\\(?:\n|([\\`$"]))/g, "$1")

type Node<Type extends SyntaxNode["type"]> = Extract<SyntaxNode, { type: Type }>

/** Words that begin or end a compound command. If one is the name of a program, the text was misread. */
const reserved = new Set(
  "if then elif else fi for while until do done case esac select function { } ! [[ ]] coproc".split(" ")
)

/** Arithmetic on numbers alone. Any other arithmetic needs a question anyway. */
const arithmetic = /^[\s\d+\-*/%<>=!&|^~?:;,()]*$/

/** An operator, a keyword or a line end, as written between nodes. */
const token = /[ \t]+|\\\n|(\n)|(;;&|;;|;&|&&|\|\||\|&|[;&|()])|((?:\[\[|\]\]|[{}]|[a-z]+)(?![^\s;&|()<>`]))/y

/** Where a comment or a keyword may start. */
const edge = /[\s;&|()<>`]/

const delimiter = /^(?:'[^'\n]*'|"[^"\n`$\\]*"|\\[^\n]|[^\s'"\\`$;&|<>()])+$/

const operation = /^(?::?[-=+?]|##?|%%?|\/[/#%]?|:|\^\^?|,,?|[@*])$/

const isText = (node: SyntaxNode | undefined): boolean => node?.type === "Word" || node?.type === "Assignment"

/** Whether a node ends with a word. Text that follows without a blank would belong to that word. */
const endsInWord = (node: SyntaxNode | undefined): boolean =>
  isText(node) || node?.type === "Redirect" || node?.type === "HereString" || node?.type === "HereDoc"

const isQuoted = (place: Place): boolean => place === "quoted" || place === "bracedQuoted" || place === "document"

const compiled = new Map<string, RegExp>()

/** A gap as a regular expression. There are only as many as there are kinds of nodes. */
const expression = (gap: string): RegExp => {
  const found = compiled.get(gap) ?? new RegExp(`^${gap}$`)
  if (compiled.size < 1_000) compiled.set(gap, found)
  return found
}

class Account {
  readonly #text: string
  #pending: Array<HereDoc> = []
  /** Where the check of the text stops, if not at its end. */
  failed: number | undefined

  constructor(text: string) {
    this.#text = text
  }

  #hold(holds: boolean, at: number): void {
    if (!holds) this.failed ??= at
  }

  /** The tokens of a gap, each followed by a blank. `ends`: a comment may end with the gap. */
  #tokens(from: number, to: number, ends: boolean): string {
    let tokens = ""
    let at = from
    while (at < to) {
      const afterEdge = this.#isEdge(at)
      if (this.#text.charAt(at) === "#") {
        const end = this.#text.indexOf("\n", at)
        this.#hold(afterEdge, at)
        if (end < 0 || end >= to) {
          this.#hold(ends, at)
          return tokens
        }
        at = end
      }
      token.lastIndex = at
      const [found = "", line, sign, name] = token.exec(this.#text) ?? []
      this.#hold(found !== "" && (name === undefined || afterEdge), at)
      if (found === "") return tokens
      at += found.length
      if (line !== undefined) at = this.#documents(at)
      tokens += line === undefined ? (sign ?? name) === undefined ? "" : `${found} ` : "N "
    }
    this.#hold(at === to, to)
    return tokens
  }

  /** Checks the here-documents of the line that has just ended, and returns where they end. */
  #documents(from: number): number {
    let at = from
    for (const { body, closing, delimiter: name, operator, pos } of this.#pending.splice(0)) {
      if (closing === undefined || name === undefined) {
        this.#hold(false, pos)
        return at
      }
      const indent = this.#text.slice(body.end, closing.pos)
      this.#hold(body.pos === at && (operator === "<<-" ? /^\t*$/ : /^$/).test(indent), pos)
      const strip = (line: string) => operator === "<<-" ? line.replace(/^\t+/, "") : line
      const lines = this.#text.slice(body.pos, closing.end).split("\n")
      // In an expanded here-document, a backslash before a line end joins the line with the next one.
      const isEnd = (line: string, before = "") =>
        strip(line) === name.value && (name.quoted || !/(?:^|[^\\])(?:\\\\)*\\$/.test(before))
      this.#hold(lines.findIndex((line, n) => isEnd(line, lines[n - 1])) === lines.length - 1, body.pos)
      this.#hold(/^\n?$/.test(this.#text.charAt(closing.end)), closing.end)
      // The shell joins such lines before it parses them, so a comment may continue in the next line.
      const isJoined = !name.quoted && this.#text.slice(body.pos, body.end).includes("\\\n")
      this.#hold(!isJoined || (body.parts ?? []).every(({ type }) => type === "Literal"), body.pos)
      if (body.parts !== undefined) this.#fill(body.parts, body.pos, body.end, "document")
      else this.#hold(name.quoted || isInert(this.#text, body.pos, body.end, "document"), body.pos)
      at = Math.min(closing.end + 1, this.#text.length)
    }
    return at
  }

  /** Whether a word would begin here. A line end after a backslash does not count. */
  #isEdge(at: number): boolean {
    if (this.#text.slice(Math.max(at - 2, 0), at) === "\\\n") return this.#isEdge(at - 2)
    return at === 0 || edge.test(this.#text.charAt(at - 1))
  }

  #gap(from: number, to: number, gap: string, ends = false): void {
    this.#hold(from <= to && expression(gap).test(this.#tokens(from, to, ends)), from)
  }

  /** Whether at least one blank or line end separates two words. */
  #isApart(from: number, to: number): boolean {
    return /[ \t\n]/.test(this.#text.slice(from, to).replaceAll("\\\n", ""))
  }

  #sequence(
    parts: ReadonlyArray<SyntaxNode>,
    gaps: ReadonlyArray<string>,
    from: number,
    to: number,
    ends = false
  ): void {
    let at = from
    for (const [n, part] of parts.entries()) {
      this.#gap(at, part.pos, gaps[n] ?? "")
      const before = parts[n - 1]
      if (endsInWord(before) && isText(part) && gaps[n] !== "\\| ") this.#hold(this.#isApart(at, part.pos), part.pos)
      // Digits right before a redirection are its descriptor.
      const joined = /^(?:\\\n)*$/.test(this.#text.slice(at, part.pos))
      if (before?.type === "Word" && joined && "operator" in part) {
        this.#hold(!/^(?:\d+|\{\w+\})$/.test(before.text.replaceAll("\\\n", "")), at)
      }
      this.node(part)
      at = part.end
    }
    this.#gap(at, to, gaps.at(-1) ?? "", ends)
  }

  /** Checks a script that fills a whole region. `ends`: a comment may end with the region. */
  script({ commands }: Script, from: number, to: number, ends: boolean): void {
    const edges = ["(?:N )*", ...statements(commands), "(?:; )?(?:N )*"]
    this.#sequence(commands, commands.length === 0 ? ["(?:N )*"] : edges, from, to, ends)
    this.#hold(this.#pending.length === 0, from)
  }

  node(node: SyntaxNode): void {
    if (this.failed !== undefined) return
    const { end, pos } = node
    switch (node.type) {
      case "Command": {
        const parts = [...node.prefix, ...node.name === undefined ? [] : [node.name], ...node.suffix]
        const name = node.name?.text.replaceAll("\\\n", "") ?? ""
        this.#hold(!reserved.has(name) && !/^[A-Za-z_]\w*(?:\[.*\])?\+?=/s.test(name), pos)
        return this.#sequence(parts, [], pos, end)
      }
      case "Function":
        this.#hold(/^function[ \t]|^[^ \t\n()]+[ \t]*\([ \t]*\)/.test(this.#text.slice(pos, end)), pos)
        break
      case "Subshell":
        // Two of them begin arithmetic.
        this.#hold(!/^\((?:\\\n)*\(/.test(this.#text.slice(pos, end)), pos)
        break
      case "Word":
        return this.#word(node, "plain")
      case "Assignment":
        this.#hold(/^[A-Za-z_]\w*(?:\[\s*-?\d+\s*\])?\+?=$/.test(this.#text.slice(pos, node.value.pos)), pos)
        this.#hold(node.value.end === end, pos)
        return this.node(node.value)
      case "Time":
        return this.#hold(/^time(?:[ \t]+-p)?(?:[ \t]+--)?$/.test(this.#text.slice(pos, end)), pos)
      case "Negation":
        return this.#hold(/^![ \t\n]$/.test(this.#text.slice(pos, end + 1)), pos)
      case "Redirect":
      case "HereString":
        return this.#redirect(node)
      case "HereDoc":
        return this.#document(node)
      case "ArithmeticCommand":
        this.#hold(/^\(\([^]*\)\)$/.test(this.#text.slice(pos, end)), pos)
        return this.#hold(arithmetic.test(this.#text.slice(pos, end)), pos)
      case "ArithmeticFor": {
        const head = /^for[ \t]*(\(\([^]*\)\))[ \t]*;?[ \t\n]*(?:do|\{)[ \t\n]*$/.exec(
          this.#text.slice(pos, node.body.pos)
        )
        this.#hold(head !== null && arithmetic.test(head[1] ?? ""), pos)
        return this.#sequence([node.body], ["", "(?:; (?:N )*|(?:N )+)(?:done|\\}) "], node.body.pos, end)
      }
      case "TestUnary":
        this.#hold(this.#blanked(pos, node.operand.pos) === node.operator || pos === node.operand.pos, pos)
        return this.#word(node.operand, "plain")
      case "TestBinary":
        this.#word(node.left, "plain")
        this.#hold(this.#blanked(node.left.end, node.right.pos) === node.operator, pos)
        return this.#word(node.right, /^(?:=|==|!=|=~)$/.test(node.operator) ? "pattern" : "plain")
    }
    const known = gapsOf(node)
    if (known === undefined) return this.#hold(false, pos)
    this.#sequence(known.parts, known.gaps, pos, end)
  }

  /** A text without the blanks around it. */
  #blanked(from: number, to: number): string {
    return this.#text.slice(from, to).replaceAll("\\\n", "").replace(/^[ \t\n]+|[ \t\n]+$/g, "")
  }

  #redirect(node: Node<"Redirect" | "HereString">): void {
    const { descriptor, end, operator, pos, target } = node
    if (target === undefined) return this.#hold(false, pos)
    this.#hold(this.#isDescriptor(pos, descriptor?.end ?? pos), pos)
    this.#hold(this.#blanked(descriptor?.end ?? pos, target.pos) === operator && target.end === end, pos)
    // The shell takes the dash that closes a descriptor for a token, and continues after it.
    this.#hold(!operator.endsWith("&") || !target.text.startsWith("-") || target.text === "-", target.pos)
    this.#word(target, "plain")
  }

  #isDescriptor(from: number, to: number): boolean {
    return /^(?:\d*|\{[A-Za-z_]\w*\})$/.test(this.#text.slice(from, to))
  }

  #document(node: HereDoc): void {
    const { delimiter: name, descriptor, end, operator, pos } = node
    if (name === undefined) return this.#hold(false, pos)
    const plain = name.text.replace(/'([^']*)'|"([^"]*)"|\\([^])/g, "$1$2$3")
    this.#hold(this.#isDescriptor(pos, descriptor?.end ?? pos), pos)
    this.#hold(this.#blanked(descriptor?.end ?? pos, name.pos) === operator && name.end === end, pos)
    this.#hold(this.#text.slice(name.pos, end) === name.text && delimiter.test(name.text), pos)
    this.#hold(plain === name.value && name.quoted === /['"\\]/.test(name.text), pos)
    this.#pending.push(node)
  }

  #word({ end, parts, pos, text, value }: Word, place: Place): void {
    this.#hold(this.#text.slice(pos, end) === text, pos)
    if (place === "plain" || place === "pattern") this.#hold(!text.startsWith("#"), pos)
    if (parts !== undefined) return this.#fill(parts, pos, end, place)
    this.#hold(isInert(this.#text, pos, end, place) && (isQuoted(place) || value === saidBy(text, place)), pos)
  }

  /** Parts that follow each other without a gap. */
  #fill(parts: ReadonlyArray<WordPart>, from: number, to: number, place: Place): void {
    let at = from
    for (const part of parts) {
      this.#hold(part.pos === at && this.#text.slice(at, part.end) === part.text, at)
      this.#part(part, place)
      at = part.end
    }
    this.#hold(at === to, at)
  }

  #part(part: WordPart, place: Place): void {
    const { end, pos, text } = part
    switch (part.type) {
      case "Literal":
        this.#hold(isInert(this.#text, pos, end, place), pos)
        return this.#hold(!/^(?:plain|quoted|document)$/.test(place) || part.value === saidBy(text, place), pos)
      case "SingleQuoted":
        // In an expansion within double quotes, the operator decides whether quotes inside its braces quote.
        this.#hold(place === "bracedQuoted" ? /^'[^'"$`\\}]*'$/.test(text) : !isQuoted(place), pos)
        return this.#hold(/^'[^']*'$/.test(text) && part.value === text.slice(1, -1), pos)
      case "AnsiCQuoted":
        return this.#hold(!isQuoted(place) && /^\$'(?:\\[^]|[^'\\])*'$/.test(text), pos)
      case "DoubleQuoted":
      case "LocaleString":
        this.#hold(place !== "quoted" && place !== "document" && /^\$?"[^]*"$/.test(text) && text.length > 1, pos)
        return this.#fill(part.parts, pos + text.indexOf("\"") + 1, end - 1, "quoted")
      case "SimpleExpansion":
        this.#hold(/^\$(?:[A-Za-z_]\w*|[\d@*#?!$-])$/.test(text), pos)
        return this.#hold(!/\$[A-Za-z_]\w*$/.test(text) || !/\w/.test(this.#text.charAt(end)), pos)
      case "ParameterExpansion":
        return this.#parameter(part, isQuoted(place) ? "bracedQuoted" : "braced")
      case "CommandExpansion":
      case "ProcessSubstitution":
        this.#hold(part.type === "CommandExpansion" || !isQuoted(place), pos)
        return this.#substitution(part)
      case "ArithmeticExpansion":
        this.#hold(/^\$\(\([^]*\)\)$|^\$\[[^\]]*\]$/.test(text), pos)
        return this.#hold(arithmetic.test(text.replace(/^\$\[|^\$|\]$/g, "")), pos)
      case "Glob":
        return this.#hold(isInert(this.#text, pos, end, place === "pattern" ? "pattern" : "plain"), pos)
      case "ExtendedGlob":
        return this.#hold(place === "pattern" && isInert(this.#text, pos, end, "pattern"), pos)
      case "BraceExpansion":
        if (part.parts === undefined) return this.#hold(isInert(this.#text, pos, end, place), pos)
        this.#hold(/^\{[^]*\}$/.test(text), pos)
        return this.#fill(part.parts, pos + 1, end - 1, place)
    }
  }

  #parameter(part: Node<"ParameterExpansion">, place: Place): void {
    const { end, operation: made, parameterEnd, parameterPos, pos, text } = part
    const before = this.#text.slice(parameterEnd, made?.pos ?? end - 1)
    this.#hold(/^\$\{[!#]?$/.test(this.#text.slice(pos, parameterPos)) && text.endsWith("}"), pos)
    this.#hold(/^(?:[A-Za-z_]\w*|\d+|[@*#?!$-])$/.test(this.#text.slice(parameterPos, parameterEnd)), pos)
    this.#hold(/^(?:\[(?:[@*]|\s*-?\d+\s*)\])?$/.test(before), pos)
    if (made === undefined) return
    this.#hold(made.end === end - 1, pos)
    if (made.type === "Names" || made.type === "Unknown") {
      return this.#hold(/^[@*]$/.test(this.#text.slice(made.pos, made.end)), pos)
    }
    this.#hold(operation.test(this.#text.slice(made.pos, made.operatorEnd)), pos)
    const words = made.type === "Replace"
      ? [made.pattern, made.replacement]
      : made.type === "Slice"
      ? [made.offset, made.length]
      : [made.operand]
    let at = made.operatorEnd
    for (const word of words) {
      if (word === undefined) continue
      this.#hold(/^[/:]?$/.test(this.#text.slice(at, word.pos)) || at === word.pos, at)
      this.#word(word, place)
      at = word.end
    }
    this.#hold(at === made.end, at)
  }

  #substitution({ end, pos, script, text }: Node<"CommandExpansion" | "ProcessSubstitution">): void {
    if (script === undefined) return this.#hold(false, pos)
    // Shells disagree about where here-documents are read if others begin on the same line.
    this.#hold(this.#pending.length === 0 || !text.includes("\n"), pos)
    const outer = this.#pending
    this.#pending = []
    if (text.startsWith("`")) this.#backticks(text, script, pos, end)
    else {
      this.#hold(/^[$<>]\((?!(?:\\\n)*\()[^]*\)$/.test(text), pos)
      this.script(script, pos + 2, end - 1, false)
    }
    this.#pending = outer
  }

  /** Between backticks, the shell removes backslashes before it parses the text. */
  #backticks(text: string, script: Script, pos: number, end: number): void {
    const inner = text.slice(1, -1)
    // A line end after a backslash may be dropped before or after the other backslashes, depending on the nesting.
    this.#hold(/^`(?:\\[^]|[^`\\])*`$/.test(text) && !text.includes("\\\n"), pos)
    if (script.source === undefined) {
      this.#hold(!/\\[$`\\"]/.test(inner), pos)
      return this.script(script, pos + 1, end - 1, true)
    }
    const { source } = script
    this.#hold(source === inner.replace(/\\([$`\\])/g, "$1") || source === inner.replace(/\\([$`\\"])/g, "$1"), pos)
    const found = unaccounted(source, script)
    this.#hold(found === undefined, pos)
  }
}

/** The parts of a text that no node of its parse accounts for. */
export const unaccounted = (text: string, script: Script): string | undefined => {
  const account = new Account(text)
  account.script(script, 0, text.length, true)
  const { failed } = account
  if (failed === undefined) return undefined
  return text.length - failed > 40 ? `${text.slice(failed, failed + 40)}…` : text.slice(failed)
}
