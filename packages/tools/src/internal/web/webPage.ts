/**
 * Decides what a model sees of an answer. HTML becomes markdown or plain text while it is parsed, in linear time: pages
 * are untrusted, and converters that build a tree take minutes for some.
 */
import type { ToolError, ToolResult } from "@skein/core/Tool"
import { lookup } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Parser } from "htmlparser2"
import { imageType, isBinary } from "../../FileKind.ts"
import { head } from "../files/lineWindow.ts"
import { refuse } from "../refusal.ts"
import type { Answer } from "./httpRequest.ts"

interface List {
  readonly ordered: boolean
  next: number
}

/** Elements that begin on a new line, with the number of empty lines around them. */
const blocks = lookup<number>(Object.fromEntries([
  ...["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "pre", "blockquote", "figure", "dl"].map((
    name
  ) => [name, 2]),
  ...["div", "section", "article", "header", "footer", "main", "aside", "nav", "form", "fieldset", "address", "details"]
    .map((name) => [name, 1]),
  ...["li", "tr", "dt", "dd", "summary", "figcaption", "caption", "title", "option"].map((name) => [name, 1])
]))

const marks = lookup<string>({
  b: "**",
  strong: "**",
  i: "*",
  em: "*",
  code: "`",
  del: "~~",
  s: "~~"
})

const languageOf = (attributes: Readonly<Record<string, string>>): string =>
  /\blang(?:uage)?-([\w+#-]+)/.exec(attributes["class"] ?? "")?.[1] ?? ""

const isMark = new Set(Object.values(marks))

const flat = (text: string): string => text.replace(/\s+/g, " ").trim()

/** Takes elements and text in the order of the page. `plain`: without markdown syntax. */
export const markdownWriter = (base: string, plain: boolean) => {
  let out: Array<string> = []
  let breaks = 0
  // The page's first line needs no line before it.
  let isStart = true
  let endsInSpace = true
  let preformatted = 0
  let quotes = 0
  let tables = 0
  let rows = 0
  let cells: Array<string> = []
  const lists: Array<List> = []
  // The contents of a link, an emphasis or a cell are collected separately, each kind once, so that the nesting stays
  // shallow.
  const collected: Array<{ readonly name: string; readonly out: Array<string>; readonly endedInSpace: boolean }> = []
  // The first line of a code block, until the language is known or its text begins.
  let fence: string | undefined

  const indent = () => "> ".repeat(quotes) + "  ".repeat(Math.max(0, lists.length - 1))

  const put = (text: string) => {
    if (text === "") return
    if (breaks > 0 && !isStart) {
      const prefix = indent()
      out.push(`\n${prefix}`.repeat(breaks))
    } else if (isStart) out.push(indent())
    breaks = 0
    isStart = false
    out.push(text)
    endsInSpace = /\s$/.test(text)
  }

  const breakLine = (lines: number) => {
    breaks = Math.max(breaks, lines)
    endsInSpace = true
  }

  const collect = (name: string) => {
    collected.push({ name, out, endedInSpace: endsInSpace })
    out = []
  }

  const isCollecting = (name: string) => collected.some((each) => each.name === name)

  /** What was collected since `name` opened; `undefined` if it did not. */
  const collectedIn = (name: string): string | undefined => {
    const last = collected.at(-1)
    if (last?.name !== name) return undefined
    const text = out.join("")
    collected.pop()
    out = last.out
    endsInSpace = last.endedInSpace
    return text
  }

  const closeMark = (mark: string): boolean => {
    const text = collectedIn(mark)
    const label = flat(text ?? "")
    if (text !== undefined && label !== "") {
      if (/^\s/.test(text) && !endsInSpace) put(" ")
      put(mark + label + mark)
      if (/\s$/.test(text)) put(" ")
    }
    return text !== undefined
  }

  /** A block closes the emphasis that was left open before it. */
  const closeMarks = () => {
    for (let last = collected.at(-1); last !== undefined && isMark.has(last.name); last = collected.at(-1)) {
      closeMark(last.name)
    }
  }

  const link = (target: string | undefined): string | undefined => {
    if (target === undefined || !URL.canParse(target, base)) return undefined
    const { href, protocol } = new URL(target, base)
    return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? href : undefined
  }

  const hrefs: Array<string | undefined> = []

  const open = (name: string, attributes: Readonly<Record<string, string>>) => {
    const lines = blocks[name]
    if (lines !== undefined) closeMarks()
    if (lines !== undefined && !(lists.length > 0 && (name === "ul" || name === "ol" || name === "p"))) breakLine(lines)
    switch (name) {
      case "br":
        breakLine(1)
        return
      case "hr":
        breakLine(2)
        put("---")
        breakLine(2)
        return
      case "img": {
        const source = link(attributes["src"])
        const alt = flat(attributes["alt"] ?? "")
        if (plain || source === undefined) put(alt)
        else if (alt !== "") put(`![${alt}](${source})`)
        return
      }
      case "a":
        if (isCollecting("a")) return
        hrefs.push(link(attributes["href"]))
        collect("a")
        return
      case "pre":
        if (preformatted++ === 0 && !plain) fence = languageOf(attributes)
        return
      case "code":
        if (fence !== undefined) fence ||= languageOf(attributes)
        break
      case "blockquote":
        if (!plain) quotes++
        return
      case "ul":
      case "ol":
        if (lists.length > 0) breakLine(1)
        lists.push({ ordered: name === "ol", next: Number.parseInt(attributes["start"] ?? "1", 10) || 1 })
        return
      case "li": {
        const list = lists.at(-1)
        put(list?.ordered === true ? `${list.next++}. ` : "- ")
        endsInSpace = true
        return
      }
      case "table":
        if (tables++ === 0) rows = 0
        return
      case "tr":
        if (tables === 1) cells = []
        return
      case "td":
      case "th":
        if (tables === 1 && !isCollecting("cell")) collect("cell")
        return
    }
    if (/^h[1-6]$/.test(name) && !plain) put(`${"#".repeat(Number(name.charAt(1)))} `)
    const mark = marks[name]
    if (mark !== undefined && preformatted === 0 && !plain && !isCollecting(mark)) collect(mark)
  }

  const close = (name: string) => {
    switch (name) {
      case "a": {
        const text = collectedIn("a")
        if (text === undefined) return
        const href = hrefs.pop()
        const label = flat(text)
        breaks = 0
        if (label !== "") put(plain || href === undefined ? label : `[${label}](${href})`)
        return
      }
      case "pre":
        if (--preformatted === 0 && !plain && fence === undefined) {
          breaks = 0
          put(out.at(-1)?.endsWith("\n") === true ? "```" : "\n```")
        }
        fence = undefined
        breakLine(2)
        return
      case "blockquote":
        if (!plain) quotes = Math.max(0, quotes - 1)
        break
      case "ul":
      case "ol":
        lists.pop()
        breakLine(lists.length > 0 ? 1 : 2)
        return
      case "td":
      case "th": {
        const text = tables === 1 ? collectedIn("cell") : undefined
        breaks = text === undefined ? breaks : 0
        if (text !== undefined) cells.push(flat(text).replaceAll("|", "\\|"))
        return
      }
      case "tr":
        if (tables !== 1) return
        if (cells.some((cell) => cell !== "")) {
          breakLine(rows === 0 ? 2 : 1)
          put(plain ? cells.join("\t") : `| ${cells.join(" | ")} |`)
          if (rows++ === 0 && !plain) {
            breakLine(1)
            put(`|${" --- |".repeat(cells.length)}`)
          }
        }
        return
      case "table":
        tables = Math.max(0, tables - 1)
        break
    }
    const mark = marks[name]
    if (mark !== undefined && closeMark(mark)) return
    if (blocks[name] !== undefined) closeMarks()
    const lines = blocks[name]
    if (lines !== undefined && !(lists.length > 0 && name === "p")) breakLine(lines)
  }

  const text = (data: string) => {
    if (preformatted > 0) {
      if (fence !== undefined) put(`\`\`\`${fence}\n`)
      fence = undefined
      put(data)
      return
    }
    const words = data.replace(/\s+/g, " ")
    put(endsInSpace ? words.replace(/^ /, "") : words)
  }

  return {
    open,
    close,
    text,
    /** All that was written. */
    end: (): string => {
      while (collected.length > 0) collectedIn(collected.at(-1)?.name ?? "")
      return out.join("").replace(/[ \t]+\n/g, "\n").trim()
    }
  }
}

/** How deeply elements may be nested. */
const maximumDepth = 512

/** How much is parsed before other fibers get a turn. */
const piece = 64 * 1024

/** Elements that are not shown. */
const silent = new Set(`script style noscript template svg head iframe object canvas select button`.split(/\s+/))

/** The text of a page; with `plain`, without markdown syntax. Links and images become absolute with `base`. */
export const htmlText = Effect.fnUntraced(function*(
  html: string,
  base: string,
  plain: boolean
): Effect.fn.Return<string, ToolError> {
  const writer = markdownWriter(base, plain)
  let depth = 0
  let deepest = 0
  let hidden = 0
  const parser = new Parser({
    onopentag: (name, attributes) => {
      deepest = Math.max(deepest, ++depth)
      if (silent.has(name)) hidden++
      else if (hidden === 0) writer.open(name, attributes)
    },
    ontext: (text) => {
      if (hidden === 0) writer.text(text)
    },
    onclosetag: (name) => {
      depth--
      if (silent.has(name)) hidden--
      else if (hidden === 0) writer.close(name)
    }
  })
  for (let at = 0; at < html.length; at += piece) {
    parser.write(html.slice(at, at + piece))
    if (deepest > maximumDepth) {
      return yield* refuse(
        "unreadable",
        "The page's elements lie too deep in one another to be converted. Ask for format html."
      )
    }
    yield* Effect.yieldNow()
  }
  parser.end()
  return writer.end()
})

/** How much of an error page is shown. */
const maximumError = 500

/** The text of an answer, in the encoding that its headers or the page itself name. */
const textOf = ({ body, headers }: Answer): string => {
  const named = /charset=["']?([\w:.-]+)/i.exec(headers["content-type"] ?? "")?.[1] ??
    /<meta[^>]+charset=["']?([\w:.-]+)/i.exec(body.subarray(0, 1_024).toString("latin1"))?.[1]
  const decoder = Either.getOrElse(Either.try(() => new TextDecoder(named ?? "utf-8")), () => new TextDecoder())
  return decoder.decode(body)
}

const isHtml = ({ body, headers: { "content-type": contentType = "" } }: Answer): boolean =>
  contentType === ""
    ? /^\s*<(!doctype html|html)/i.test(body.subarray(0, 256).toString("latin1"))
    : /^\s*(text\/html|application\/xhtml\+xml)/i.test(contentType)

/** The result of a call from the last answer. */
export const pageOf = Effect.fnUntraced(function*(
  url: URL,
  answer: Answer,
  format: "markdown" | "text" | "html"
): Effect.fn.Return<ToolResult, ToolError> {
  const { body, headers: { "content-type": contentType = "" }, status } = answer
  const metadata = { url: url.href, status, contentType, bytes: body.length }
  const mime = imageType(body)
  if (status >= 200 && status < 300 && mime !== undefined) {
    return {
      title: url.href,
      output: `${url.href} is attached (${mime}, ${body.length} bytes).`,
      metadata,
      attachments: [{ mime, url: `data:${mime};base64,${body.toString("base64")}` }]
    }
  }
  // UTF-16 text contains many NULs, so trust its declaration here.
  if (isBinary(body) && !/charset=["']?utf-16/i.test(contentType)) {
    return yield* refuse(
      "binary",
      `${url.href} is ${
        contentType === "" ? "no text" : contentType
      } (${body.length} bytes), which cannot be shown. Use bash to download it.`
    )
  }
  const text = textOf(answer)
  const shown = isHtml(answer) && format !== "html" ? yield* htmlText(text, url.href, format === "text") : text
  if (status < 200 || status >= 300) {
    return yield* refuse(
      "http",
      `${url.href} answered with status ${status}. ${head(shown.trim(), maximumError)}`,
      metadata
    )
  }
  return { title: url.href, output: shown === "" ? "(The page has no text.)" : shown, metadata }
})
