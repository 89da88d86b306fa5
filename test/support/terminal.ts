/** Runs the built program on a terminal of its own, and types. Needs python3, whose pty module makes the terminal. */
import xterm from "@xterm/headless"
import { spawn, spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { onTestFailed } from "vitest"

/** Whether there is a python3 that can make terminals. */
export const hasPython = spawnSync("python3", ["-c", "import pty"]).status === 0

/** What is typed once something was printed. */
export interface TypedKey {
  readonly after: string
  readonly send: string
}

/** What was printed, and how the program ended. */
export interface OnTerminal {
  readonly code: number | null
  /** With all sequences. */
  readonly printed: string
  /** Without them: lines that were drawn again stand there again. */
  readonly plain: string
}

/** Runs a command on a terminal; `closes` is what it prints before the terminal is closed. */
export const onTerminal = (
  argv: ReadonlyArray<string>,
  { closes, columns = 80, cwd, env, keys, rows = 24 }: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
    readonly keys: ReadonlyArray<TypedKey>
    readonly columns?: number
    readonly rows?: number
    readonly closes?: string
  }
): Promise<OnTerminal> =>
  new Promise((resolve) => {
    const driver = fileURLToPath(new URL("terminal.py", import.meta.url))
    const plan = { argv, columns, rows, keys, ...(closes === undefined ? {} : { closes }) }
    const child = spawn("python3", [driver, JSON.stringify(plan)], { cwd, env })
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => printed += text)
    onTestFailed(async () => console.error(`The terminal shows in the end:\n${await shown(printed)}`))
    child.once("close", (code) =>
      // oxlint-disable-next-line no-control-regex -- what a terminal obeys begins with ESC
      resolve({ code, printed, plain: printed.replace(/\u001b(?:\[[\d;?<>]*[A-Za-z]|\][^\u0007]*\u0007)/g, "") }))
  })

/** What a terminal of 80 x 24 shows in the end, its scrollback included. */
export const shown = async (printed: string): Promise<string> => {
  const terminal = new xterm.Terminal({ cols: 80, rows: 24, scrollback: 10_000, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(printed, resolve))
  const { active } = terminal.buffer
  const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "")
  return lines.join("\n").trimEnd()
}
