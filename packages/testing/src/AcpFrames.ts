/** Checks frames of the Agent Client Protocol, in both directions, against the JSON schemas that its SDK ships. */
import { Validator } from "@cfworker/json-schema"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

/** A message as it was sent. */
export interface Frame {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Who sent a frame. */
export type Sender = "agent" | "client"

interface Definition {
  readonly "x-method"?: string
  readonly "x-side"?: string
}

interface Root {
  readonly $defs: Readonly<Record<string, Definition>>
}

const require = createRequire(import.meta.url)

const stable = () => require.resolve("@agentclientprotocol/sdk/schema/v1/schema.json")

const unstable = () => require.resolve("@agentclientprotocol/sdk/schema/v1/schema.unstable.json")

/** What belongs to a method: its parameters, or its result. */
const definitionsOf = ({ $defs }: Root, kind: RegExp): ReadonlyMap<string, string> =>
  new Map(
    Object.entries($defs).flatMap(([name, { "x-method": method }]) =>
      method !== undefined && kind.test(name) ? [[method, name]] : []
    )
  )

/** Checks frames against one of the schemas: clients that declare nothing unstable get nothing unstable. */
export const makeChecker = (isStable: boolean) => {
  const root = JSON.parse(readFileSync(isStable ? stable() : unstable(), "utf8")) as Root
  const params = definitionsOf(root, /(Request|Notification)$/)
  const results = definitionsOf(root, /Response$/)
  const validators = new Map<string, Validator>()
  const validator = (name: string): Validator => {
    const made = validators.get(name)
      ?? new Validator({ ...root, anyOf: undefined, $ref: `#/$defs/${name}` } as never, "2020-12", false)
    validators.set(name, made)
    return made
  }
  const methods: Readonly<Record<Sender, Map<string, string>>> = { agent: new Map(), client: new Map() }

  const against = (name: string | undefined, value: unknown, frame: Frame): ReadonlyArray<string> => {
    if (name === undefined) return [`no schema for ${JSON.stringify(frame).slice(0, 200)}`]
    const { errors, valid } = validator(name).validate(value)
    if (valid) return []
    const [worst] = errors.toReversed()
    return [`${name}: ${worst?.instanceLocation} ${worst?.error} in ${JSON.stringify(frame).slice(0, 1_000)}`]
  }

  /** What is wrong with a frame. */
  return (from: Sender, frame: Frame): ReadonlyArray<string> => {
    if (frame.method !== undefined) {
      if (frame.id !== undefined) methods[from].set(JSON.stringify(frame.id), frame.method)
      return against(params.get(frame.method), frame.params ?? {}, frame)
    }
    if (frame.error !== undefined) return against("Error", frame.error, frame)
    const asked = methods[from === "agent" ? "client" : "agent"].get(JSON.stringify(frame.id))
    return asked === undefined ? [`an answer to nothing: ${JSON.stringify(frame).slice(0, 200)}`] : against(
      results.get(asked),
      frame.result,
      frame
    )
  }
}
