import { AgentNotFound } from "@skein/core/Agent"
import { ModelError, ModelUnavailable } from "@skein/core/Provider"
import { StorageError } from "@skein/core/StorageError"
import * as Cause from "effect/Cause"
import { describe, expect, it } from "vitest"
import { UsageError } from "../../src/ExitCode.ts"
import { errorLine, explain } from "../../src/internal/explain.ts"

const storage = (reason: StorageError["reason"]) => new StorageError({ operation: "open", reason, message: reason })

describe("an error and its exit code", () => {
  it.each([
    [new UsageError({ message: "m" }), "UsageError", 2],
    [new AgentNotFound({ name: "x", message: "m" }), "AgentNotFound", 2],
    [new ModelUnavailable({ model: "x", reason: "no_key", message: "m" }), "ModelUnavailable", 2],
    [storage("foreign"), "StorageError", 2],
    [storage("newer"), "StorageError", 2],
    [storage("readonly"), "StorageError", 2],
    [storage("full"), "StorageError", 1],
    [storage("busy"), "StorageError", 1],
    [new ModelError({ reason: "auth", retryable: false, message: "m" }), "auth", 1]
  ])("%s", (error, tag, exitCode) => {
    expect(explain(Cause.fail(error))).toEqual({ tag, message: error.message, exitCode })
  })

  it("of the program itself says how to see more, and shows no stack", () => {
    const explained = explain(Cause.die(new TypeError("x is not a function")))
    expect(explained).toMatchObject({ tag: "defect", exitCode: 1 })
    expect(explained.message).toBe(
      "Something went wrong inside Skein (x is not a function). Run it again with --verbose to see where."
    )
  })

  it("is a line that a terminal only shows", () => {
    expect(errorLine("bad\u001b[2J\n")).toBe("skein: bad\\x1b[2J")
  })
})
