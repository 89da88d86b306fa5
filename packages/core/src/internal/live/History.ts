/** Owns the messages of a session in memory, and what is known of its requests. */
import type { MessageID, PartID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { PromptMessage } from "../../Provider.ts"

/** A message in memory. Only its history changes it. */
export interface LiveMessage {
  readonly info: Message
  readonly parts: ReadonlyArray<Part>
  /** The message as a model sees it: `promptOf` makes it on first use, and again after a part has changed. */
  prompt: ReadonlyArray<PromptMessage> | undefined
}

interface Entry extends LiveMessage {
  info: Message
  readonly parts: Array<Part>
}

/** The messages of one session. They are read from storage on demand, and forgotten when the session rests. */
export class History {
  #messages: Array<Entry> | undefined

  /** The messages; undefined until they were read. */
  get messages(): ReadonlyArray<LiveMessage> | undefined {
    return this.#messages
  }

  /** Takes the messages that were read, unless another fiber was faster. */
  load(found: ReadonlyArray<MessageWithParts>): ReadonlyArray<LiveMessage> {
    return this.#messages ??= found.map(({ info, parts }) => ({ info, parts: [...parts], prompt: undefined }))
  }

  /** Forgets the messages: the next use reads them again. */
  forget(): void {
    this.#messages = undefined
  }

  /** Appends a message, or replaces the one with its id. */
  putMessage(info: Message): LiveMessage {
    const messages = this.#messages ??= []
    const known = messages.findLast((message) => message.info.id === info.id)
    if (known !== undefined) {
      known.info = info
      return known
    }
    const message: Entry = { info, parts: [], prompt: undefined }
    messages.push(message)
    return message
  }

  /** Inserts a part in the order of ids, as the database does, or replaces the part with its id. */
  putPart(message: LiveMessage, part: Part): void {
    message.prompt = undefined
    const { parts } = message as Entry
    const before = parts.findLastIndex((each) => each.id <= part.id)
    if (parts[before]?.id === part.id) parts[before] = part
    else parts.splice(before + 1, 0, part)
  }

  /** Removes a part. */
  removePart(message: LiveMessage, id: PartID): void {
    message.prompt = undefined
    const { parts } = message as Entry
    const at = parts.findIndex((part) => part.id === id)
    if (at >= 0) parts.splice(at, 1)
  }

  /** Removes a message that could not be stored. */
  removeMessage(id: MessageID): void {
    const at = this.#messages?.findIndex((message) => message.info.id === id) ?? -1
    if (at >= 0) this.#messages?.splice(at, 1)
  }
}

/** A message for use outside. */
export const snapshot = (message: LiveMessage): MessageWithParts => ({ info: message.info, parts: [...message.parts] })

/** The length of a request in characters, and the tokens that its model counted for it. */
export interface Measure {
  readonly size: number
  readonly tokens: number
}

/** What is known of the requests of one session. */
export class Requests {
  /** The measurement of the last request. */
  measured: Measure | undefined
  /** The first message whose tool outputs are sent; undefined if all are. */
  wholeFrom: MessageID | undefined
  /** The first message whose reasoning is sent; undefined if all of it is: the provider refused it. */
  reasonedFrom: MessageID | undefined
  /** The tokens of the last shortened request. */
  floor = 0
  /** The number of model requests since the session was opened. */
  steps = 0
  /** The answer whose request was charged here last, even if that could not be stored. */
  charged: MessageID | undefined
  /** The open requests that this process makes, and so charges; a dead process has made all others. */
  readonly own = new Set<MessageID | PartID>()
}
