/** Decides what a model sees of an answer. */
import type { ToolError, ToolResult } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { imageType, isBinary } from "../../FileKind.ts"
import { head } from "../files/lineWindow.ts"
import { refuse } from "../refusal.ts"
import { htmlText } from "./htmlText.ts"
import type { Answer } from "./httpGet.ts"

/** How much of an error page is shown. */
const maximumError = 500

/** The text of an answer, in the encoding that its headers or the page itself name. */
const textOf = ({ body, contentType }: Answer): string => {
  const named = /charset=["']?([\w:.-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]+charset=["']?([\w:.-]+)/i.exec(body.subarray(0, 1_024).toString("latin1"))?.[1]
  const decoder = Either.getOrElse(Either.try(() => new TextDecoder(named ?? "utf-8")), () => new TextDecoder())
  return decoder.decode(body)
}

const isHtml = ({ body, contentType }: Answer): boolean =>
  contentType === ""
    ? /^\s*<(!doctype html|html)/i.test(body.subarray(0, 256).toString("latin1"))
    : /^\s*(text\/html|application\/xhtml\+xml)/i.test(contentType)

/** The result of a call from the last answer. */
export const pageOf = Effect.fnUntraced(function*(
  url: URL,
  answer: Answer,
  format: "markdown" | "text" | "html"
): Effect.fn.Return<ToolResult, ToolError> {
  const { body, contentType, status } = answer
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
