/** Cleans the text of servers, and turns their content into what models read. */
import type { CallToolResult } from "@modelcontextprotocol/client"
import type { Attachment } from "@skein/domain/Part"

/** Escape sequences of terminals, whole: without its first character, the rest would be left as text. */
const sequences =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g

/** Control characters but line feeds and tabs, overrides of direction, and the tags that hide text. */
const hidden =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu

/** The text as people would see it. */
export const cleanText = (text: string): string =>
  text.replaceAll(/\r\n?|\u2028|\u2029/g, "\n").replaceAll(sequences, "").replaceAll(hidden, "")

/** The same in one line, at most so many characters. */
export const cleanLine = (text: string, most: number): string => {
  const line = cleanText(text).replaceAll(/\s+/g, " ").trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** Images that models take. */
const images = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"])

/** How many images there may be, and how long all of them, in characters of base64. */
const most = { images: 20, length: 8 * 1024 * 1024 } as const

/** An answer as the model reads it. */
interface Answer {
  readonly text: string
  readonly attachments: ReadonlyArray<Attachment>
}

type Block = CallToolResult["content"][number]

const sizeOf = (base64: string): string => `${Math.ceil((base64.length * 3) / 4 / 1024)} KB`

/** Makes it of the blocks of an answer. */
export const answerOf = (content: ReadonlyArray<Block>, structured?: unknown): Answer => {
  const texts: Array<string> = []
  const attachments: Array<Attachment> = []
  let length = 0
  const attach = (mime: string, data: string, what: string) => {
    const base64 = data.replaceAll(/\s/g, "")
    const isImage = images.has(mime) && /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
    if (!isImage) texts.push(`[${what} of type ${cleanLine(mime, 100)}, ${sizeOf(data)}: it cannot be shown]`)
    else if (attachments.length >= most.images || length + base64.length > most.length) {
      texts.push(`[${what}, ${sizeOf(data)}: left out, the images are too many or too large]`)
    } else {
      length += base64.length
      attachments.push({ mime, url: `data:${mime};base64,${base64}` })
    }
  }
  for (const block of content) {
    switch (block.type) {
      case "text":
        texts.push(cleanText(block.text))
        break
      case "image":
      case "audio":
        attach(block.mimeType, block.data, block.type)
        break
      case "resource_link":
        texts.push(`[resource ${cleanLine(block.uri, 500)}: ${cleanLine(block.description ?? block.name, 500)}]`)
        break
      case "resource": {
        const { resource } = block
        const uri = cleanLine(resource.uri, 500)
        if ("text" in resource) texts.push(`[resource ${uri}]\n${cleanText(resource.text)}`)
        else attach(resource.mimeType ?? "", resource.blob, `resource ${uri}`)
        break
      }
      default:
        texts.push("[unsupported content type]")
    }
  }
  if (texts.length === 0 && attachments.length === 0 && structured !== undefined) {
    texts.push(cleanText(JSON.stringify(structured, undefined, 2)))
  }
  return { text: texts.join("\n"), attachments }
}
