/** What models are asked. */
import type { ModelRequest } from "@skein/core/Provider"

/** The user messages of a request, one text for each. */
export const asked = (request: ModelRequest | undefined): ReadonlyArray<string> =>
  request?.messages.flatMap((message) =>
    message.role === "user" ? [message.content.map((part) => part.type === "text" ? part.text : "").join("|")] : []
  ) ?? []
