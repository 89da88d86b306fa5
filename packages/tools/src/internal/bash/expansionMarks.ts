/**
 * Checks the text of a line against its nodes: whatever may start a command inside a word (a backtick, `$(`, `<(`, `>(`, and
 * `${` and `$[`, which may hold others) has to be the start of a node that was read. A parser that overlooks one cannot hide it.
 */
import type { SyntaxNode } from "unbash"

/** What is known of a character. */
const bits = {
  /** It stands in single quotes, or in a here-document that nothing is expanded in. */
  inert: 1,
  /** A process substitution cannot stand here, as in double quotes. */
  text: 2,
  /** It belongs to a word, so no comment starts here. */
  word: 4,
  /** A node that was read starts here. */
  start: 8,
  /** A command between backticks ends here. */
  close: 16
}

/** Escapes, where comments start and end, and whatever starts an expansion; the shell drops a backslash before a line's end. */
const sign = /\\[^]|[#\n`]|[$<>](?:\\\n)*\(|\$(?:\\\n)*[{[]/g

/** An expansion that is closed. */
const closed = /^(?:`[^]*`|[$<>](?:\\\n)*\([^]*\)|\$(?:\\\n)*(?:\{[^]*\}|\[[^]*\]))$/

/** What may stand between the elements of a list. */
const gap = /^(?:\s|\\\n|(?<=\s)#.*\n)*$/

/** Where a comment may start. */
const edge = /[\s;&|()<>`]/

const excerpt = (text: string, at: number): string =>
  text.length - at > 40 ? `${text.slice(at, at + 40)}…` : text.slice(at)

/** The text that the places of some nodes count in: a line, or what stands between backticks in it. */
export class ExpansionMarks {
  readonly #text: string
  readonly #known: Uint8Array

  constructor(text: string) {
    this.#text = text
    this.#known = new Uint8Array(text.length)
  }

  #set(pos: number, end: number, bit: number): void {
    for (let at = pos; at < end; at++) this.#known[at] = (this.#known[at] ?? 0) | bit
  }

  #clear(pos: number, end: number, bit: number): void {
    for (let at = pos; at < end; at++) this.#known[at] = (this.#known[at] ?? 0) & ~bit
  }

  #has(at: number, bit: number): boolean {
    return ((this.#known[at] ?? 0) & bit) !== 0
  }

  #isAt(text: string, pos: number): boolean {
    return this.#text.startsWith(text, pos)
  }

  /** Notes which part of the text a node accounts for. */
  node(node: SyntaxNode): void {
    switch (node.type) {
      case "SingleQuoted":
      case "AnsiCQuoted":
        if (this.#isAt(node.text, node.pos)) this.#set(node.pos, node.end, bits.inert)
        return
      case "HereDoc": {
        const { body, delimiter } = node
        const isPlain = delimiter?.quoted === true && this.#isAt(body.text, body.pos)
        return this.#set(body.pos, body.end, isPlain ? bits.word | bits.inert : bits.word)
      }
      case "HereDocBody":
      case "DoubleQuoted":
        if (node.type === "HereDocBody" && node.parts === undefined) this.#set(node.pos, node.end, bits.text)
        for (const part of node.parts ?? []) {
          if (part.type === "Literal" && this.#isAt(part.text, part.pos)) this.#set(part.pos, part.end, bits.text)
        }
        return
      case "ArithmeticBinary":
        // `1<(2)` compares.
        return this.#set(node.left.end, node.right.pos, bits.text)
      case "CommandExpansion":
      case "ArithmeticCommandExpansion":
      case "ProcessSubstitution":
      case "ArithmeticExpansion":
      case "ParameterExpansion":
        if (!closed.test(node.text) || !this.#isAt(node.text, node.pos)) return
        this.#set(node.pos, node.pos + 1, bits.start)
        if ("script" in node) this.#clear(node.pos + 1, node.end, bits.word)
        if (node.text.endsWith("`")) this.#set(node.end - 1, node.end, bits.close)
        return
      case "Word":
      case "ArrayValue":
      case "ArithmeticCommand":
      case "ArithmeticFor":
      case "TestCommand":
      case "HereDocDelimiter":
        return this.#set(node.pos, node.type === "ArithmeticFor" ? node.body.pos : node.end, bits.word)
      default:
        return
    }
  }

  /** Whether a list ends where its node does: otherwise the shell continues with the word after it. */
  isList({ elements, end, pos }: Extract<SyntaxNode, { type: "ArrayValue" }>): boolean {
    const starts = [...elements.map((each) => each.pos), end - 1]
    const ends = [pos + 1, ...elements.map((each) => each.end)]
    return this.#isAt("(", pos) && this.#isAt(")", end - 1) &&
      starts.every((start, at) => gap.test(this.#text.slice(ends[at], start)))
  }

  /** Takes a part of the text as accounted for: its content is checked as a text of its own. */
  skip({ end, pos, text }: { readonly pos: number; readonly end: number; readonly text: string }): void {
    if (this.#isAt(text, pos)) this.#set(pos, end, bits.inert)
  }

  /** The first expansion that no node accounts for. */
  unexplained(): string | undefined {
    let comment = false
    for (const { 0: found, index: at } of this.#text.matchAll(sign)) {
      if (comment) comment = !found.endsWith("\n") && !this.#has(at, bits.close)
      else if (found === "#") comment = !this.#has(at, bits.word) && (at === 0 || edge.test(this.#text.charAt(at - 1)))
      else if (found === "\n" || found.startsWith("\\") || this.#has(at, bits.inert | bits.start | bits.close)) continue
      else if (/^[<>]/.test(found) && this.#has(at, bits.text)) continue
      else return excerpt(this.#text, at)
    }
    return undefined
  }
}
