import { expect, it } from "@effect/vitest"
import { jsonSchemas } from "@skein/config/ConfigSchema"
import { hookEvents } from "@skein/domain/Hook"
import * as Effect from "effect/Effect"

it.effect("describes the input and output of a hook for every event", () =>
  Effect.gen(function*() {
    const schemas = yield* jsonSchemas
    expect(Object.keys(schemas)).toEqual([...hookEvents])
    for (const event of hookEvents) {
      expect(schemas[event].payload).toMatchObject({
        $schema: "http://json-schema.org/draft-07/schema#",
        required: expect.arrayContaining(["event", "sessionID", "rootID", "path", "cwd"]),
        properties: { event: { enum: [event] } },
        additionalProperties: false
      })
      expect(schemas[event].answer).toMatchObject({
        required: [],
        properties: { decision: {}, reason: { type: "string" } },
        additionalProperties: false
      })
    }
    expect(schemas.PreToolUse).toMatchObject({
      payload: { properties: { tool: { type: "string" }, input: {} } },
      answer: { properties: { decision: { enum: ["allow", "deny", "ask"] }, input: {} } }
    })
    expect(schemas.PermissionRequest.payload).toMatchObject({
      properties: { request: { required: expect.arrayContaining(["id", "permission", "patterns"]) } }
    })
    expect(schemas.SessionEnd.answer).toMatchObject({ properties: { decision: { enum: ["allow"] } } })
  }))
