/** Draws the Markdown of models. Only a few harmless elements become markup. */
import { micromark } from "micromark"
import { gfm, gfmHtml } from "micromark-extension-gfm"
import { Component, type ComponentChild, h } from "preact"
import { bodyOf } from "./markup.ts"

/** The allowed elements. Others are left out, but their content stays. */
const known = new Set([
  "a",
  "blockquote",
  "br",
  "code",
  "del",
  "em",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "hr",
  "li",
  "ol",
  "p",
  "pre",
  "strong",
  "sub",
  "sup",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul"
])

/** Headings of an answer are one level below those of the page. */
const lowered: Readonly<Record<string, string>> = { h1: "h4", h2: "h5", h3: "h6" }

/** Elements whose content is not text to read. */
const silent = new Set(["script", "style", "template", "iframe", "object", "noscript"])

const isSafeLink = (url: string): boolean => /^(https?:|mailto:)/i.test(url)

const propsOf = (element: Element, name: string): Record<string, unknown> => {
  if (name === "a") {
    const url = element.getAttribute("href") ?? ""
    return isSafeLink(url) ? { href: url, target: "_blank", rel: "noopener noreferrer nofollow" } : {}
  }
  if (name === "ol") return { start: Number(element.getAttribute("start") ?? 1) }
  if (name === "pre" || name === "table") return { tabIndex: 0 }
  return {}
}

/** Pictures would be loaded from elsewhere, so they become links. */
const pictureOf = (element: Element): ComponentChild => {
  const url = element.getAttribute("src") ?? ""
  const text = `[image: ${element.getAttribute("alt") || url}]`
  return isSafeLink(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text) : text
}

const drawn = (node: Node, key: number): ComponentChild => {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent
  if (!(node instanceof Element)) return null
  const name = node.localName
  if (silent.has(name)) return null
  if (name === "img") return pictureOf(node)
  if (name === "input") return node.hasAttribute("checked") ? "☑ " : "☐ "
  const children = [...node.childNodes].map(drawn)
  if (!known.has(name)) return children
  const shown = lowered[name] ?? name
  return name === "br" || name === "hr" ? h(shown, { key }) : h(shown, { ...propsOf(node, name), key }, children)
}

const parse = (text: string): ReadonlyArray<ComponentChild> => {
  const html = micromark(text, { extensions: [gfm()], htmlExtensions: [gfmHtml()] })
  return [...bodyOf(html).childNodes].map(drawn)
}

/** Splits text into blocks, so that only the last one is parsed again while the text grows. */
const blocksOf = (text: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  let block: Array<string> = []
  let fence = ""
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined && (fence === "" || mark.startsWith(fence))) fence = fence === "" ? mark : ""
    block.push(line)
    if (line.trim() === "" && fence === "") {
      blocks.push(block.join("\n"))
      block = []
    }
  }
  return [...blocks, block.join("\n")]
}

class Block extends Component<{ readonly text: string }> {
  override shouldComponentUpdate({ text }: { readonly text: string }): boolean {
    return text !== this.props.text
  }

  override render() {
    return parse(this.props.text)
  }
}

/** Markdown. A growing text is parsed block by block. */
export const Markdown = ({ grows, text }: { readonly text: string; readonly grows: boolean }) => (
  <div class="markdown">
    {(grows ? blocksOf(text) : [text]).map((block, at) => <Block key={at} text={block} />)}
  </div>
)
