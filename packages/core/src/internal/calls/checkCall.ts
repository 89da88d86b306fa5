/** Decides whether a call is valid: parses what the model wrote as the arguments of an offered tool. */
import type { ToolPart } from "@skein/domain/Part"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { deepest, isTextNested } from "../../Nesting.ts"
import { type AnyTool, ToolError } from "../../Tool.ts"
import { parseJson, writtenOf } from "../conversation/askedOf.ts"
import type { Step } from "../model/Step.ts"
import { wellFormed } from "../text.ts"

/** What is needed of an answer to check its calls. */
export type Answered = Pick<Step, "calls" | "finish" | "offered">

/** A call that was not made, and why, in words that the model can act on. */
export const refused = (kind: string, message: string) => new ToolError({ kind, message })

/** Parses what the model wrote. Every mistake has a message that the model can act on. */
const read = (part: ToolPart, { finish, offered }: Answered, tool: AnyTool | undefined, whyMissing?: string) => {
  const text = writtenOf(part)
  if (part.state.status === "pending" && part.state.fault !== undefined) {
    return Either.left(refused("invalid_call", part.state.fault))
  }
  if (finish === "length") {
    return Either.left(
      refused(
        "cut_off",
        "The answer was cut off at its length limit, so this call was not run. Answer in smaller pieces."
      )
    )
  }
  if (tool === undefined || !offered.includes(tool.name)) {
    return Either.left(
      refused(
        "unknown_tool",
        `There is no tool "${part.tool.slice(0, 64)}" here. ${whyMissing === undefined ? "" : `${whyMissing} `}${
          offered.length === 0
            ? "This answer may call no tool: conclude in text."
            : `Tools: ${offered.join(", ")}.`
        }`
      )
    )
  }
  if (isTextNested(text)) {
    return Either.left(
      refused(
        "invalid_arguments",
        `invalid arguments for ${tool.name}: they are nested more than ${deepest} levels deep. Send flatter ones.`
      )
    )
  }
  const json = parseJson(text.trim() === "" ? "{}" : text)
  if (Either.isLeft(json)) {
    return Either.left(
      refused("invalid_arguments", `invalid arguments for ${tool.name}: they are not JSON. Send one JSON object.`)
    )
  }
  const decoded = Schema.decodeUnknownEither(tool.parameters)(wellFormed(json.right), {
    onExcessProperty: "error",
    errors: "all"
  })
  if (Either.isRight(decoded)) return Either.right(decoded.right)
  const issues = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
  const messages = issues.slice(0, 8).map(({ message, path }) =>
    `${[tool.name, ...path.map(String)].join(".")}: ${message}`
  )
  return Either.left(refused("invalid_arguments", `invalid arguments for ${tool.name}: ${messages.join("; ")}`))
}

/** A second call with the id of an earlier one in the same message. */
const isDouble = ({ calls }: Answered, part: ToolPart): boolean =>
  part.callID !== "" && calls.find((each) => each.callID === part.callID)?.id !== part.id

/** The arguments of a call, or what is wrong with it; `whyMissing` says why its tool is not there. */
export const checkCall = (
  part: ToolPart,
  answered: Answered,
  tool: AnyTool | undefined,
  whyMissing?: string
): Either.Either<unknown, ToolError> =>
  isDouble(answered, part)
    ? Either.left(
      refused(
        "duplicate_id",
        `The id ${part.callID} names an earlier call of this answer. Give each call an id of its own.`
      )
    )
    : read(part, answered, tool, whyMissing)
