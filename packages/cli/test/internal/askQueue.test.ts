import type { PermissionRequest } from "@skein/domain/Event"
import type { PermissionID, SessionID } from "@skein/domain/Id"
import { describe, expect, it } from "vitest"
import { AskQueue } from "../../src/internal/tree/askQueue.ts"

const request = (id: string, always: ReadonlyArray<string> = ["*"]): PermissionRequest => ({
  id: id as PermissionID,
  sessionID: "ses_1" as SessionID,
  rootID: "ses_1" as SessionID,
  path: ["build"],
  permission: "edit",
  patterns: ["a.txt"],
  always,
  metadata: {}
})

const shown = (...requests: ReadonlyArray<PermissionRequest>) => {
  const queue = new AskQueue()
  for (const each of requests) queue.add(each)
  queue.show()
  return queue
}

describe("keys", () => {
  it.each([
    ["y", { reply: "once", message: undefined }],
    ["Y", { reply: "once", message: undefined }],
    ["a", { reply: "always", scope: "tree" }],
    ["p", { reply: "always", scope: "project" }],
    ["n", { reply: "reject", message: undefined }]
  ])("%s answers", (key, answer) => {
    expect(shown(request("per_1")).type(key)).toMatchObject({ id: "per_1", ...answer })
  })

  it("of no meaning do nothing", () => {
    const queue = shown(request("per_1"))
    for (const key of ["x", " ", "\r", "\u001b", "\u001b[A", "\u001bOy", "\u0004"]) {
      expect(queue.type(key)).toBeUndefined()
    }
    expect(queue.current?.id).toBe("per_1")
  })

  it("for always do nothing where always is not offered", () => {
    const queue = shown(request("per_1", []))
    expect(queue.type("a")).toBeUndefined()
    expect(queue.type("p")).toBeUndefined()
  })

  it("write a message after m; Enter sends it, Escape goes back", () => {
    const queue = shown(request("per_1"))
    expect(queue.type("m")).toBeUndefined()
    queue.type("yn")
    expect(queue.message).toBe("yn")
    queue.type("\u0015no 世\u007f!")
    expect(queue.message).toBe("no !")
    queue.type("\u001b")
    expect(queue.message).toBeUndefined()
    queue.type("mplease stop\r")
    expect(queue.type("y")).toBeUndefined()
  })

  it("of a message that is pasted at once are sent with it", () => {
    expect(shown(request("per_1")).type("mplease stop\r")).toEqual({
      id: "per_1",
      reply: "reject",
      scope: "tree",
      message: "please stop"
    })
  })
})

describe("several questions", () => {
  it("come one after the other, and none is answered before it was shown", () => {
    const queue = shown(request("per_1"), request("per_2"))
    expect(queue.others).toBe(1)
    expect(queue.type("yyy")).toMatchObject({ id: "per_1" })
    expect(queue.type("y")).toBeUndefined()
    queue.remove("per_1" as PermissionID)
    expect(queue.type("y")).toBeUndefined()
    expect(queue.show()?.id).toBe("per_2")
    expect(queue.type("n")).toMatchObject({ id: "per_2", reply: "reject" })
  })

  it("that were answered elsewhere are gone", () => {
    const queue = shown(request("per_1"), request("per_2"))
    queue.remove("per_2" as PermissionID)
    expect(queue.others).toBe(0)
    queue.type("m")
    queue.remove("per_1" as PermissionID)
    expect(queue.current).toBeUndefined()
    expect(queue.message).toBeUndefined()
    expect(queue.type("y")).toBeUndefined()
  })

  it("are each shown once", () => {
    const queue = shown(request("per_1"))
    expect(queue.show()).toBeUndefined()
  })
})
