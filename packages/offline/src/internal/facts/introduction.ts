/** Finds the words with which a README or a source file introduces its project or module. */
import type { Fact, SourceLine } from "../outputs.ts"

/** How a README begins. */
export interface Introduction {
  readonly title: Fact | undefined
  readonly text: Fact | undefined
}

const plain = (text: string): string =>
  text.replace(/!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])/g, "").replace(/\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])/g, "$1")
    .replace(/<[^>]+>/g, "").replace(/\*\*|__/g, "").trim()

const headingOf = (text: string): string | undefined => {
  const title = plain(/^#{1,2}\s+(.+)$/.exec(text)?.[1] ?? /<h1[^>]*>(.*?)(<\/h1>|$)/i.exec(text)?.[1] ?? "")
  return title === "" || /^(table of )?contents$/i.test(title) ? undefined : title
}

const isProse = (text: string): boolean =>
  /[\p{L}\p{N}]/u.test(plain(text))
  && !/^\s*(#|```|[-*+|>]\s|\d+\.\s|[=~^-]{3}|\[[^\]]+\]:|\.\. |:[\w-]+:|image:|<h\d|<?https?:\/\/\S+\s*$)/i.test(text)

/** Whether a paragraph warns its readers, and does not say what the project is. */
const isNotice = (text: string): boolean =>
  /^[^\p{L}\p{N}]*(note|notice|warning|important|caution|attention|deprecated|archived|disclaimer)\b/iu.test(text)
  || /\bannounc\w+\b|\b(has|have|was) (been )?(moved|renamed|archived|deprecated)\b|\bno longer (being )?(maintained|developed|supported)\b/i
    .test(text)
  || /^\s*[\u26A0\u{1F6A7}\u{1F6A8}\u2757]/u.test(text)

/** Blanks comments and code blocks. */
const visible = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<SourceLine> => {
  let comment = false
  let fenced = false
  return lines.map((at) => {
    const begins = at.text.trimStart().startsWith("<!--")
    const fence = /^\s*```/.test(at.text)
    const hidden = comment || begins || fenced || fence
    if (begins || comment) comment = !at.text.includes("-->")
    if (fence) fenced = !fenced
    return hidden ? { ...at, text: "" } : at
  })
}

/** Reads the first lines of a README: the heading, unless prose comes before it, and the first paragraph that is no notice. */
export const readIntroduction = (lines: ReadonlyArray<SourceLine>): Introduction => {
  const shown = visible(lines)
  const from = shown.findIndex((at) => isProse(at.text))
  const heading = shown.slice(0, from < 0 ? undefined : from + 1).find((at) => headingOf(at.text) !== undefined)
    ?? (/^=+\s*$/.test(shown[from + 1]?.text ?? "") ? shown[from] : undefined)
  const underlined = heading !== undefined && heading === shown[from]
  const title = heading && { ...heading, text: headingOf(heading.text) ?? plain(heading.text) }
  const rest = shown.slice(underlined ? from + 2 : Math.max(from, 0))
  for (let next = 0;;) {
    const begin = rest.findIndex((at, index) => index >= next && isProse(at.text))
    const first = rest[begin]
    if (first === undefined) return { title, text: undefined }
    const end = rest.findIndex((at, index) => index > begin && !isProse(at.text))
    const text = rest.slice(begin, end < 0 ? undefined : end).map((at) => plain(at.text)).join(" ")
    if (!isNotice(text)) return { title, text: { ...first, text } }
    if (end < 0) return { title, text: undefined }
    next = end
  }
}

interface Block {
  readonly first: SourceLine
  readonly text: string
}

const joined = (lines: ReadonlyArray<SourceLine>, clean: (text: string) => string): string =>
  lines.map((at) => clean(at.text).trim()).filter((text) => text !== "").join(" ")

/** The comments before the first statement. */
const blocksOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  for (let i = 0; i < lines.length;) {
    const first = lines[i]
    if (first === undefined) break
    const until = (isEnd: (at: SourceLine, index: number) => boolean): ReadonlyArray<SourceLine> => {
      const end = lines.findIndex((at, index) => index >= i && isEnd(at, index))
      return lines.slice(i, end < 0 ? undefined : end + 1)
    }
    const quote = /^[rRuU]?("""|''')/.exec(first.text)?.[1]
    if (/^\s*\/\*/.test(first.text)) {
      const own = until((at) => at.text.includes("*/"))
      blocks.push({ first, text: joined(own, (text) => text.replace(/^\s*(\/\*+|\*(?!\/))|\*\/.*$/g, "")) })
      i += own.length
    } else if (/^(\/\/|#(?!!))/.test(first.text)) {
      const own = until((_, index) => !/^(\/\/|#(?!!))/.test(lines[index + 1]?.text ?? ""))
      blocks.push({ first, text: joined(own, (text) => text.replace(/^(\/+|#+)\s?/, "")) })
      i += own.length
    } else if (quote !== undefined) {
      const own = until((at, index) =>
        (index === i ? at.text.slice(at.text.indexOf(quote) + 3) : at.text).includes(quote)
      )
      const paragraph = own.findIndex((at, index) =>
        index > 0 && at.text.trim() === "" && own[index - 1]?.text.trim() !== quote
      )
      blocks.push({
        first,
        text: joined(paragraph < 0 ? own : own.slice(0, paragraph), (text) => text.replaceAll(quote, ""))
      })
      i += own.length
    } else if (/^\s*$|^#!|^["']use |^from __future__/.test(first.text)) i++
    else break
  }
  return blocks
}

const isFormality = (text: string): boolean =>
  text === "" ||
  /copyright|licen[sc]e|spdx|eslint|@ts-|prettier|go:build|\+build|coding[:=]|-\*-|generated|type: ignore|noqa|flake8/i
    .test(text)

/** The first sentence of a source file's doc comment, if there is one. */
export const readDocComment = (lines: ReadonlyArray<SourceLine>): Fact | undefined => {
  const block = blocksOf(lines).find(({ text }) => !isFormality(text))
  if (block === undefined) return undefined
  const sentence = /^.*?[.:!?](?=\s|$)/.exec(block.text)?.[0] ?? block.text
  return { ...block.first, text: sentence.replace(/:$/, "") }
}
