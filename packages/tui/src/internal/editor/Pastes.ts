/** Keeps long pasted texts out of sight: in the input each stands as one character, which is shown as a label. */

/** Texts that are longer are folded: in characters, and in lines. */
const longest = { characters: 1_000, lines: 10 }

/** Characters that stand for a folded text: they are private, and have no meaning of their own. */
const first = 0xf_0000
const last = 0xf_fffd

// Built from numbers: the characters themselves cannot be seen in a source.
const token = new RegExp(`[${String.fromCodePoint(first)}-${String.fromCodePoint(last)}]`, "gu")

const tokenOf = (at: number): string => String.fromCodePoint(Math.min(last, first + at))

const linesOf = (text: string): number => text.split("\n").length

/** Line breaks as the input has them; characters that stand for folded texts are taken away. */
const cleaned = (text: string): string => text.replaceAll(/\r\n?/g, "\n").replace(token, "\ufffd")

/** The folded texts of all inputs so far: they are recognised in a text that comes back. */
export class Pastes {
  readonly #texts: Array<string> = []

  /** What is to be inserted for a pasted text: the text, or the character that stands for it. */
  fold(pasted: string): string {
    const text = cleaned(pasted)
    if (text.length <= longest.characters && linesOf(text) <= longest.lines) return text
    const known = this.#texts.indexOf(text)
    if (known >= 0) return tokenOf(known)
    this.#texts.push(text)
    return tokenOf(this.#texts.length - 1)
  }

  /** A text as it stood in the input: what was pasted folded before is folded again. */
  refold(whole: string): string {
    const known = this.#texts.map((text, at) => ({ text, token: tokenOf(at) }))
    return known.toSorted((a, b) => b.text.length - a.text.length).reduce(
      (text, paste) => text.replaceAll(paste.text, () => paste.token),
      cleaned(whole)
    )
  }

  /** The text that a character stands for; undefined for any other. */
  textOf(character: string): string | undefined {
    const at = (character.codePointAt(0) ?? 0) - first
    return at < 0 ? undefined : this.#texts[at]
  }

  /** How it is shown; undefined for a character that stands for itself. */
  labelOf(character: string): string | undefined {
    const text = this.textOf(character)
    if (text === undefined) return undefined
    const lines = linesOf(text)
    const size = lines === 1 ? `${text.length} characters` : `${lines} lines`
    return `[Pasted text ${(character.codePointAt(0) ?? 0) - first + 1}: ${size}]`
  }

  /** A text with all that is folded in it. */
  unfold(text: string): string {
    return text.replace(token, (character) => this.textOf(character) ?? "")
  }
}
