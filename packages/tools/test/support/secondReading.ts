/**
 * A second reading of bash, for tests: a tokenizer that shares nothing with the parser. It finds the commands of a line, and
 * gives up where it does not know how the shell reads something.
 */

/** A command: its words without quotes, `undefined` where only the shell knows one. */
export type ReadCommand = ReadonlyArray<string | undefined>

class GivesUp extends Error {}

const skipped = new Set(["{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "time"])

const unknownWords = new Set(["case", "select", "coproc", "function", "[[", "]]", "esac"])

class SecondReader {
  readonly commands: Array<ReadCommand>
  readonly #text: string
  #at = 0
  #documents: Array<{ readonly end: string; readonly quoted: boolean; readonly tabs: boolean }> = []

  constructor(text: string, commands: Array<ReadCommand>) {
    this.#text = text
    this.commands = commands
  }

  #is(sign: string): boolean {
    return this.#text.startsWith(sign, this.#at)
  }

  #giveUp(): never {
    throw new GivesUp()
  }

  #blanks(): void {
    for (;;) {
      if (this.#is(" ") || this.#is("\t")) this.#at++
      else if (this.#is("\\\n")) this.#at += 2
      else return
    }
  }

  #comment(): void {
    if (this.#is("#") && /^$|[\s;&|()<>]/.test(this.#text.charAt(this.#at - 1))) {
      while (this.#at < this.#text.length && !this.#is("\n")) this.#at++
    }
  }

  #newline(): void {
    this.#at++
    for (const { end, quoted, tabs } of this.#documents.splice(0)) {
      let body = ""
      for (;;) {
        if (this.#at >= this.#text.length) this.#giveUp()
        let line = ""
        for (;;) {
          const stop = this.#text.indexOf("\n", this.#at)
          const piece = this.#text.slice(this.#at, stop < 0 ? undefined : stop)
          this.#at = stop < 0 ? this.#text.length : stop + 1
          line += piece
          // A backslash before the end joins two lines.
          if (quoted || stop < 0 || !/(?:^|[^\\])(?:\\\\)*\\$/.test(piece)) break
          line = line.slice(0, -1)
        }
        if ((tabs ? line.replace(/^\t+/, "") : line) === end) break
        body += `${line}\n`
      }
      if (!quoted) new SecondReader(body, this.commands).expansions()
    }
  }

  /** The expansions in the text of a here-document. */
  expansions(): void {
    while (this.#at < this.#text.length) {
      if (this.#is("\\")) this.#at += 2
      else if (this.#is("$") || this.#is("`")) this.#expansion(true)
      else this.#at++
    }
  }

  #single(): string {
    const end = this.#text.indexOf("'", this.#at + 1)
    if (end < 0) this.#giveUp()
    const value = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    return value
  }

  #double(): string | undefined {
    let value: string | undefined = ""
    for (this.#at++;; this.#at++) {
      if (this.#at >= this.#text.length) this.#giveUp()
      if (this.#is("\"")) break
      if (this.#is("\\\n")) this.#at++
      else if (/^\\[$`"\\]/.test(this.#text.slice(this.#at, this.#at + 2))) {
        value = add(value, this.#text.charAt(++this.#at))
      } else if (this.#is("`") || /^\$[\w{(@*#?!$-]/.test(this.#text.slice(this.#at, this.#at + 2))) {
        this.#expansion(true)
        this.#at--
        value = undefined
      } else value = add(value, this.#text.charAt(this.#at))
    }
    this.#at++
    return value
  }

  #expansion(quoted: boolean): void {
    if (this.#is("`")) {
      const [found] = /^`(?:\\[^]|[^`\\])*`/.exec(this.#text.slice(this.#at)) ?? this.#giveUp()
      this.#at += found.length
      const inner = found.slice(1, -1).replace(quoted ? /\\([$`\\"])/g : /\\([$`\\])/g, "$1")
      new SecondReader(inner, this.commands).all()
    } else if (this.#is("$((") || this.#is("$[")) {
      const [found] = /^\$\(\([\d+\-*/ <>]*\)\)|^\$\[[\d+\-*/ ]*\]/.exec(this.#text.slice(this.#at)) ?? this.#giveUp()
      this.#at += found.length
    } else if (this.#is("$(")) {
      this.#at += 2
      this.#nested()
    } else if (this.#is("${")) this.#parameter(quoted)
    else {
      const [found] = /^\$(?:[A-Za-z_]\w*|[\d@*#?!$-])?/.exec(this.#text.slice(this.#at)) ?? this.#giveUp()
      this.#at += found.length
    }
  }

  #parameter(quoted: boolean): void {
    for (this.#at += 2; !this.#is("}");) {
      if (this.#at >= this.#text.length) this.#giveUp()
      if (this.#is("\\")) this.#at += 2
      else if (this.#is("'")) {
        // Whether it quotes between double quotes is a matter of the operator.
        if (quoted) this.#giveUp()
        this.#single()
      } else if (this.#is("\"")) this.#double()
      else if (this.#is("`") || /^\$[\w{(@*#?!$['"-]/.test(this.#text.slice(this.#at, this.#at + 2))) {
        this.#expansion(quoted)
      } else if (this.#is("<(") || this.#is(">(") || this.#is("{")) this.#giveUp()
      else this.#at++
    }
    this.#at++
  }

  #nested(): void {
    const outer = this.#documents
    if (outer.length > 0) this.#giveUp()
    this.#list(true)
    if (!this.#is(")") || this.#documents.length > 0) this.#giveUp()
    this.#at++
  }

  /** One word, without its quotes; `undefined` where it is not known. */
  #word(): string | undefined {
    let value: string | undefined = ""
    for (; this.#at < this.#text.length && !/[ \t\n;&|<>()]/.test(this.#text.charAt(this.#at));) {
      if (this.#is("'")) value = add(value, this.#single())
      else if (this.#is("\"")) value = add(value, this.#double())
      else if (this.#is("\\\n")) this.#at += 2
      else if (this.#is("\\")) {
        value = add(value, this.#text.charAt(this.#at + 1))
        this.#at += 2
      } else if (this.#is("$'") || this.#is("$\"")) this.#giveUp()
      else if (this.#is("`") || this.#is("$")) {
        this.#expansion(false)
        value = undefined
      } else {
        const sign = this.#text.charAt(this.#at++)
        // Braces and homes are exchanged by the shell.
        value = /[{~]/.test(sign) ? undefined : add(value, sign)
      }
      if (this.#is("<(") || this.#is(">(")) {
        this.#at += 2
        this.#nested()
        value = undefined
      }
    }
    return value
  }

  #redirection(): boolean {
    const [found, sign] = /^(?:\d+|\{\w+\})?(<<-|<<<|<<|<>|<&|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())/.exec(
      this.#text.slice(this.#at)
    ) ?? []
    if (found === undefined) return false
    this.#at += found.length
    this.#blanks()
    const from = this.#at
    const word = this.#word()
    if (from === this.#at || this.#is("<(") || this.#is(">(")) this.#giveUp()
    if (sign === "<<" || sign === "<<-") {
      const source = this.#text.slice(from, this.#at)
      if (word === undefined) this.#giveUp()
      this.#documents.push({ end: word, quoted: /['"\\]/.test(source), tabs: sign === "<<-" })
    }
    return true
  }

  /** `time -p` is a word of the grammar as well. */
  #options(): void {
    this.#blanks()
    if (/^-(?:p|-)(?=[\s<>&|;]|$)/.test(this.#text.slice(this.#at, this.#at + 3))) this.#at += 2
  }

  #forLoop(): void {
    this.#blanks()
    this.#word()
    this.#blanks()
    if (!/^in[ \t\n;]/.test(this.#text.slice(this.#at, this.#at + 3))) return
    this.#at += 2
    for (this.#blanks(); !/^$|[\n;&|()<>]/.test(this.#text.charAt(this.#at)); this.#blanks()) this.#word()
    if (this.#is("<(") || this.#is(">(")) this.#giveUp()
  }

  #command(): void {
    const words: Array<string | undefined> = []
    let isAssigned = false
    for (;;) {
      this.#blanks()
      this.#comment()
      if (this.#redirection()) continue
      if (/^$|[\n;&|()]/.test(this.#text.charAt(this.#at))) break
      const from = this.#at
      const isProcess = this.#is("<(") || this.#is(">(")
      if (isProcess) {
        this.#at += 2
        this.#nested()
      }
      const word = this.#word()
      const source = this.#text.slice(from, this.#at)
      if (from === this.#at) this.#giveUp()
      if (words.length === 0) {
        if (unknownWords.has(source)) this.#giveUp()
        if (source === "for") {
          this.#forLoop()
          return
        }
        // Behind an assignment no word is one of the grammar.
        if (skipped.has(source) && isAssigned) this.#giveUp()
        if (skipped.has(source)) {
          // Behind a pipe it is a program.
          if (source === "time" && /\|&?\s*$/.test(this.#text.slice(0, from))) this.#giveUp()
          if (source === "time") this.#options()
          continue
        }
        // The index of an assignment may hold blanks.
        if (/^[A-Za-z_]\w*\[[^\]]*$/.test(source)) this.#giveUp()
        if (/^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/.test(source)) {
          if (/=(?:\\\n)*$/.test(source) && this.#is("(")) this.#giveUp()
          isAssigned = true
          continue
        }
        this.#blanks()
        if (this.#is("(")) {
          this.#at++
          this.#blanks()
          if (!this.#is(")")) this.#giveUp()
          this.#at++
          continue
        }
      } else if (/^[A-Za-z_]\w*\+?=$/.test(source) && this.#is("(")) this.#giveUp()
      words.push(isProcess ? undefined : word)
    }
    if (words.length > 0) this.commands.push(words)
  }

  #list(nested: boolean): void {
    let depth = 0
    for (; this.#at < this.#text.length;) {
      this.#blanks()
      this.#comment()
      if (this.#is("\n")) this.#newline()
      else if (this.#is("((")) this.#giveUp()
      else if (this.#is("(")) {
        depth++
        this.#at++
      } else if (this.#is(")")) {
        if (depth === 0) {
          if (!nested) this.#giveUp()
          return
        }
        depth--
        this.#at++
      } else if (/^(?:;;|&>)/.test(this.#text.slice(this.#at))) {
        if (this.#is(";;")) this.#giveUp()
        this.#command()
      } else if (/[;&|]/.test(this.#text.charAt(this.#at))) this.#at++
      else if (this.#at < this.#text.length) this.#command()
    }
  }

  /** Reads all of the text. */
  all(): void {
    this.#list(false)
    if (this.#documents.length > 0) this.#giveUp()
  }
}

const add = (value: string | undefined, more: string | undefined): string | undefined =>
  value === undefined || more === undefined ? undefined : value + more

/** The commands of a line; `undefined` where this reading does not know. */
export const secondReading = (line: string): ReadonlyArray<ReadCommand> | undefined => {
  const reader = new SecondReader(line, [])
  try {
    reader.all()
    return reader.commands
  } catch (error) {
    if (error instanceof GivesUp || error instanceof RangeError) return undefined
    throw error
  }
}
