/** Parses the arguments of a call by the table of its program: which options are unknown, and which files it opens. */
import type { Kind, Option, Table } from "./table.ts"

/** A word of a call. */
export interface CallWord {
  readonly text: string
  /** Whether the shell passes on exactly this text, as one argument. */
  readonly fixed: boolean
}

/** Something that a call names, and what it means to the program. */
export interface Named<Word> {
  readonly word: Word
  readonly text: string
  readonly kind: Kind
  /** Whether it is an operand. If only the shell knows its text, the program may take it for an option. */
  readonly operand: boolean
  /** The option that it is the value of. */
  readonly option?: string | undefined
}

/** What a call does, according to its table. */
export interface Call<Word> {
  /** The first option that is not in the table; undefined if all are. */
  readonly unknown: string | undefined
  readonly named: ReadonlyArray<Named<Word>>
  /** Whether it reads below directories. */
  readonly below: boolean
  /** Whether it also reads hidden files. */
  readonly hidden: boolean
  /** Whether it reads its working directory because it names no file. */
  readonly here: boolean
  /** Its options. */
  readonly options: ReadonlyArray<string>
  /** Its operands, including those after `--`. */
  readonly operands: ReadonlyArray<Word>
}

class CallReader<Word extends CallWord> {
  readonly #table: Table
  readonly #args: ReadonlyArray<Word>
  readonly named: Array<Named<Word>> = []
  readonly options: Array<string> = []
  readonly operands: Array<Word> = []
  unknown: string | undefined
  below = false
  hidden = false
  #first = false
  #at = 0

  constructor(table: Table, args: ReadonlyArray<Word>) {
    this.#table = table
    this.#args = args
  }

  #value(word: Word, text: string, { takes }: Option): void {
    if (takes === undefined) return
    this.named.push({ word, text, kind: takes, operand: false, option: this.options.at(-1) })
  }

  #use(name: string, option: Option): void {
    this.options.push(name)
    this.#first ||= option.first
    this.below ||= option.below
    this.hidden ||= option.hidden
  }

  /** The value of an option in the next word. */
  #next(option: Option): boolean {
    const word = this.#args[++this.#at]
    // A word that looks like an option is not taken for a value. Should the table be wrong, nothing is overlooked.
    if (word === undefined || /^-[^\d]/.test(word.text)) return false
    this.#value(word, word.text, option)
    if (!option.twice) return true
    this.#at++
    return this.#args[this.#at] !== undefined
  }

  /** An option as a whole word: `--name`, `--name=value`, and for some programs `-name`. */
  #whole(word: Word): boolean {
    const { options } = this.#table
    const equals = word.text.indexOf("=")
    const name = equals < 0 ? word.text : word.text.slice(0, equals)
    const option = options.get(name)
    if (option === undefined) return false
    this.#use(name, option)
    if (equals < 0) return option.takes === undefined || option.attached || this.#next(option)
    this.#value(word, word.text.slice(equals + 1), option)
    return option.takes !== undefined
  }

  /** An option with its value in the same word, such as `-Wall`. */
  #prefixed(word: Word): boolean {
    const found = this.#table.prefixes.find(([name]) => word.text.startsWith(name))
    if (found === undefined) return false
    this.#use(found[0], found[1])
    this.#value(word, word.text.slice(found[0].length), found[1])
    return true
  }

  /** Letters after one dash. The last one may have a value. */
  #letters(word: Word): boolean {
    const { text } = word
    for (let at = 1; at < text.length; at++) {
      const name = `-${text.charAt(at)}`
      const option = this.#table.options.get(name)
      if (option === undefined) return false
      this.#use(name, option)
      if (option.takes === undefined) continue
      const rest = text.slice(at + 1)
      if (option.attached) {
        // In some programs this letter takes no value, and the following ones are options.
        if (/^\d*$/.test(rest)) return true
        continue
      }
      if (rest !== "") this.#value(word, rest, option)
      return rest !== "" || this.#next(option)
    }
    return true
  }

  #option(word: Word): void {
    const { text } = word
    // A word that only the shell knows may be any option.
    const known = word.fixed &&
      ((this.#table.numbers && /^-\d+$/.test(text)) || this.#whole(word) || this.#prefixed(word) ||
        (!this.#table.words && !text.startsWith("--") && this.#letters(word)))
    if (!known) this.unknown ??= text
  }

  read(): void {
    let ended = false
    for (; this.#at < this.#args.length; this.#at++) {
      const word = this.#args[this.#at] as Word
      if (!ended && word.text === "--") ended = true
      else if (ended || !/^-./.test(word.text)) {
        this.operands.push(word)
      } else this.#option(word)
    }
    const kinds = this.#first ? this.#table.operands.slice(1) : this.#table.operands
    for (const [at, word] of this.operands.entries()) {
      const isLast = at > 0 && at === this.operands.length - 1
      const kind = (isLast ? this.#table.last : undefined) ?? kinds[Math.min(at, kinds.length - 1)]
      if (kind === undefined) this.unknown ??= word.text
      else this.named.push({ word, text: word.text, kind, operand: !ended })
    }
  }
}

/** Parses a call. */
export const readCall = <Word extends CallWord>(table: Table, args: ReadonlyArray<Word>): Call<Word> => {
  const reader = new CallReader(table, args)
  reader.read()
  const { below, hidden, named, operands, options, unknown } = reader
  const here = table.here || below
  const names = named.some(({ kind, operand }) => operand && (kind === "read" || kind === "below"))
  return { unknown, named, below, hidden: hidden || !table.skipsHidden, here: here && !names, options, operands }
}
