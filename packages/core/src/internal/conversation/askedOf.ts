/** Reads what a model wrote as a call: the name of a tool and its arguments. */
import type { ToolPart } from "@skein/domain/Part"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { isTextNested } from "../../Nesting.ts"

/** Parses JSON. */
export const parseJson = Schema.decodeUnknownEither(Schema.parseJson())

const bare = (name: string): string =>
  name.toLowerCase().replace(/^(?:functions?|tools?|default_api|api)[.:/]+|:\d+$/g, "")
    .replace(/(?<=[a-z\d])[-_ ](?=[a-z\d])/g, "")

/** The tool that a call names: models also write `Read` or `functions.read`. What fits none or several stays as it is. */
export const calledTool = (name: string, offered: ReadonlyArray<{ readonly name: string }>): string => {
  if (offered.some((tool) => tool.name === name)) return name
  const [found, ...others] = offered.filter((tool) => bare(tool.name) === bare(name))
  return found === undefined || others.length > 0 ? name : found.name
}

/** What the model wrote for a pending call. */
export const writtenOf = ({ state }: ToolPart): string => state.status === "pending" ? state.input : ""

/** What the model wrote for a call: JSON if it is valid, else the text. */
export const askedOf = (part: ToolPart): unknown => {
  const text = writtenOf(part)
  return isTextNested(text) ? text : Either.getOrElse(parseJson(text), () => text)
}
