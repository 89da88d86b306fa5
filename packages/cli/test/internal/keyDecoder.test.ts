import { describe, expect, it } from "vitest"
import { type Key, KeyDecoder } from "../../src/internal/terminal/keyDecoder.ts"

const told = (keys: ReadonlyArray<Key>) =>
  keys.map((key) => key.type === "key" ? `<${key.name}>` : key.type === "paste" ? `paste:${key.text}` : key.text)

/** Decodes these reads one after the other; then nothing more comes. */
const decoded = (...reads: ReadonlyArray<string | Uint8Array>) => {
  const decoder = new KeyDecoder()
  const keys = reads.flatMap((read) => decoder.decode(typeof read === "string" ? Buffer.from(read) : read))
  return told([...keys, ...decoder.flush()])
}

describe("keys", () => {
  it.each([
    ["1\r", ["1", "<enter>"]],
    ["\u001b[A\u001b[B\u001bOC\u001bOD", ["<up>", "<down>", "<right>", "<left>"]],
    ["\u001b[5~\u001b[6~", ["<pageUp>", "<pageDown>"]],
    ["\u0002\u0015\u007f\u0004", ["<ctrl+b>", "<ctrl+u>", "<backspace>", "<other>"]],
    ["\u001b[1;5A\u001b[200x\u001bb\u001bOy", ["<other>", "<other>", "<other>", "<other>"]],
    ["\u001b", ["<escape>"]],
    ["\u001b\u001b[A", ["<escape>", "<up>"]],
    ["x\u0003", ["x", "<ctrl+c>"]],
    ["世😀", ["世", "😀"]]
  ])("%j", (typed, keys) => {
    expect(decoded(typed)).toEqual(keys)
  })

  it("are the same however they are split over reads", () => {
    const typed = "a\u001b[A1\u001b[200~one\r\ntwo\u001b[201~\u001b[6~世\r"
    const bytes = Buffer.from(typed)
    const whole = decoded(typed)
    expect(whole).toEqual(["a", "<up>", "1", "paste:one\r\ntwo", "<pageDown>", "世", "<enter>"])
    for (let at = 1; at < bytes.length; at++) {
      expect(decoded(bytes.subarray(0, at), bytes.subarray(at))).toEqual(whole)
    }
    expect(decoded(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  it("that are begun are known, so that Escape does not wait for ever", () => {
    const decoder = new KeyDecoder()
    expect(decoder.decode(Buffer.from("\u001b"))).toEqual([])
    expect(decoder.isPending).toBe(true)
    expect(told(decoder.flush())).toEqual(["<escape>"])
    expect(decoder.isPending).toBe(false)
    expect(told(decoder.decode(Buffer.from("[A")))).toEqual(["[", "A"])
  })
})

describe("what is pasted", () => {
  it("is one thing, whatever is in it", () => {
    expect(decoded("\u001b[200~1\r\u001b[A\u0003\u001b[201~")).toEqual(["paste:1\r\u001b[A\u0003"])
  })

  it("has a bound, and does not take Ctrl-C away where its end never comes", () => {
    const [pasted = ""] = decoded(`\u001b[200~${"x".repeat(300_000)}\u001b[201~`)
    expect(pasted.length).toBeLessThan(101_000)
    expect(decoded("\u001b[200~never ends", "\u0003", "1")).toEqual(["<other>", "<ctrl+c>", "1"])
  })

  it("a sequence without an end has a bound as well", () => {
    expect(decoded(`\u001b[${"1".repeat(100)}`, "y")).toEqual(["<other>", "y"])
  })
})
