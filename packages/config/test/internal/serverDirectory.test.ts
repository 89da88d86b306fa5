import { expect, it } from "vitest"
import { aboutDirectory, serverDirectories } from "../../src/internal/sourced.ts"

it("a config file is about its directory, or about the one above a directory for config", () => {
  expect(
    ["/a/.mcp.json", "/a/.opencode/opencode.json", "/a/.claude/settings.json", "/a/skein.json"].map(aboutDirectory)
  )
    .toEqual(["/a", "/a", "/a", "/a"])
})

it("a server of a project's file runs where that file is, and any other one at the project's root", () => {
  const entry = (name: string, origin: string) => ({ path: ["mcp", name], value: {}, origin })
  const entries = [
    entry("near", "/p/part/.mcp.json:3"),
    entry("mine", "/home/me/.config/skein/skein.json:9"),
    entry("flag", "--x"),
    { path: ["model"], value: "a/b", origin: "/p/part/.mcp.json:1" }
  ]
  expect(serverDirectories(entries, ["/p/part/.mcp.json"], "/p")).toEqual({ near: "/p/part", mine: "/p", flag: "/p" })
})
