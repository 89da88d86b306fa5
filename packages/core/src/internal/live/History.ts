/** Owns the messages of a session in memory: those of the database, and what is about to be stored. */
import type { MessageID, PartID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import type { PromptMessage } from "../../Provider.ts"

/** A message in memory. Only its history changes it. */
export interface LiveMessage {
  readonly info: Message
  readonly parts: ReadonlyArray<Part>
  /** What it is for a model: made by `promptOf` when it is first needed, and again after a part has changed. */
  prompt: ReadonlyArray<PromptMessage> | undefined
}

interface Entry extends LiveMessage {
  info: Message
  readonly parts: Array<Part>
}

/** The messages of one session. They are read from the database when they are needed, and forgotten when it rests. */
export class History {
  #messages: Array<Entry> | undefined
  #unbegun: Set<PartID> | undefined

  /** The messages; undefined until they were read. */
  get messages(): ReadonlyArray<LiveMessage> | undefined {
    return this.#messages
  }

  /** Takes what was read from the database, unless somebody was quicker. */
  load(found: ReadonlyArray<MessageWithParts>): ReadonlyArray<LiveMessage> {
    return this.#messages ??= found.map(({ info, parts }) => ({ info, parts: [...parts], prompt: undefined }))
  }

  /** Forgets the messages: they are read again when they are needed. */
  forget(): void {
    this.#messages = undefined
  }

  /** Puts a message at the end, or in the place of the one with its id. */
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

  /** Puts a part where its id belongs, as the database does, or in the place of the part with its id. */
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

  /** Notes a call that is stored as running, and whose effect has not begun. */
  markUnbegun(id: PartID): void {
    this.#unbegun ??= new Set()
    this.#unbegun.add(id)
  }

  /** Notes that the effect of a call begins. */
  markBegun(id: PartID): void {
    this.#unbegun?.delete(id)
  }

  /** Whether this process knows that the effect of a call has not begun. */
  isUnbegun(id: PartID): boolean {
    return this.#unbegun?.has(id) ?? false
  }

  /** Forgets which calls had not begun: all of them have ended. */
  clearUnbegun(): void {
    this.#unbegun = undefined
  }
}

/** A message for whoever is outside. */
export const snapshot = (message: LiveMessage): MessageWithParts => ({ info: message.info, parts: [...message.parts] })
