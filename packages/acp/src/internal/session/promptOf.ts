/** Turns the blocks of a client's prompt into a prompt of a session. */
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable"
import type { NewPrompt } from "@skein/backend/Sessions"
import type { PartInput } from "@skein/domain/Part"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { type BadRequest, badRequest } from "../connection/failure.ts"

/** The path of a `file:` URI; undefined for others. */
const pathOf = (uri: string): string | undefined =>
  // A file URL with anything else, such as a host, does not name a file of this machine.
  uri.startsWith("file:///") && URL.canParse(uri) ? fileURLToPath(uri.replace(/[?#].*$/, "")) : undefined

/** A file as a person would name it: `@` attaches it by the tool `read`, with its permission. */
const mention = (uri: string, name: string, directory: string): string => {
  const path = pathOf(uri)
  if (path === undefined) return uri
  const near = relative(directory, path)
  const shown = near.startsWith("..") || near === "" ? path : near
  return /\s/.test(shown) ? `${name} (${shown})` : `@${shown}`
}

const image = (mime: string, data: string, filename: string | undefined): PartInput => ({
  type: "file",
  mime,
  url: `data:${mime};base64,${data}`,
  ...(filename === undefined ? {} : { filename })
})

/** What is read of the blocks: what a person wrote, what came with it, and files. */
interface Read {
  readonly words: Array<string>
  readonly texts: Array<string>
  readonly parts: Array<PartInput>
}

const read = (block: ContentBlock, directory: string, into: Read): BadRequest | undefined => {
  switch (block.type) {
    case "text":
      into.words.push(block.text)
      return undefined
    case "image":
      into.parts.push(image(block.mimeType, block.data, undefined))
      return undefined
    case "resource_link":
      into.words.push(mention(block.uri, block.name, directory))
      return undefined
    case "resource": {
      const { resource } = block
      if ("text" in resource) {
        into.words.push(mention(resource.uri, resource.uri, directory).replace(/^@/, ""))
        into.texts.push(`<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>`)
        return undefined
      }
      if (resource.mimeType?.startsWith("image/") === true) {
        into.parts.push(image(resource.mimeType, resource.blob, resource.uri))
        return undefined
      }
      return badRequest(`${resource.uri} is neither text nor an image. Send a link to it instead.`)
    }
    default:
      return badRequest(`Content of type ${block.type} is not understood. Send text, images, resources or links.`)
  }
}

/** `/name arguments`, as a person writes it at the beginning. */
const slash = /^\/([^\s/]+)(?:\s+([^]*))?$/

/** The prompt, or why there is none. `isCommand` says which names are commands. */
export const promptOf = (
  blocks: ReadonlyArray<ContentBlock>,
  directory: string,
  isCommand: (name: string) => boolean
): NewPrompt | BadRequest => {
  const into: Read = { words: [], texts: [], parts: [] }
  for (const block of blocks) {
    const refused = read(block, directory, into)
    if (refused !== undefined) return refused
  }
  const words = into.words.join("")
  if (words.trim() === "" && into.parts.length === 0) return badRequest("The prompt is empty. Write something.")
  const more = {
    ...(into.texts.length === 0 ? {} : { text: into.texts.join("\n\n") }),
    ...(into.parts.length === 0 ? {} : { parts: into.parts })
  }
  const [, name, given = ""] = slash.exec(words.trim()) ?? []
  return name !== undefined && isCommand(name)
    ? { command: { name, arguments: given }, ...more }
    : { words, ...more }
}
