/** Runs a program in tmux, as people do: keys go through it, and what it shows is what they would see. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"

/** Whether there is a tmux. */
export const hasTmux = spawnSync("tmux", ["-V"]).status === 0

/** Where a program runs. */
export interface TmuxOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
}

/** A window with a program in it. */
export class Tmux {
  readonly #server = `skein-${randomUUID()}`
  readonly #env: Readonly<Record<string, string>>
  readonly #control: ChildProcess
  readonly #waiting = new Set<() => void>()
  /** Resolves when the program has ended and its window is gone. */
  readonly ended: Promise<void>

  constructor(argv: ReadonlyArray<string>, { columns = 80, cwd, env, rows = 24 }: TmuxOptions) {
    this.#env = env
    const quoted = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ")
    const size = ["-x", String(columns), "-y", String(rows)]
    this.#run("-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, quoted)
    this.#run("set-option", "-g", "window-size", "manual")
    // In control mode tmux tells whenever the window prints something.
    this.#control = spawn("tmux", ["-L", this.#server, "-C", "attach", "-r"], {
      env,
      stdio: ["pipe", "pipe", "ignore"]
    })
    this.#control.stdout?.on("data", () => this.#look())
    this.ended = new Promise((resolve) => this.#control.once("close", () => resolve()))
  }

  /** What stands in the window and above it. */
  get screen(): string {
    return this.#run("capture-pane", "-p", "-S", "-").stdout.trimEnd()
  }

  /** Resolves once the window shows a text as often as this, or a pattern. */
  shows(text: string, times = 1): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        const { screen } = this
        if (screen.split(text).length - 1 < times) return
        this.#waiting.delete(look)
        resolve(screen)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Types words as they are. */
  type(text: string): void {
    this.#run("send-keys", "-l", text)
  }

  /** Presses keys by tmux's names for them, such as `Enter` and `C-c`. */
  press(...keys: ReadonlyArray<string>): void {
    this.#run("send-keys", ...keys)
  }

  /** Pastes a text, marked as such if the program asked for that. */
  paste(text: string): void {
    spawnSync("tmux", ["-L", this.#server, "load-buffer", "-"], { env: this.#env, input: text })
    this.#run("paste-buffer", "-p")
  }

  resize(columns: number, rows: number): void {
    this.#run("resize-window", "-x", String(columns), "-y", String(rows))
  }

  close(): void {
    this.#run("kill-server")
    this.#control.kill()
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }

  #run(...args: ReadonlyArray<string>) {
    return spawnSync("tmux", ["-L", this.#server, ...args], { env: this.#env, encoding: "utf8" })
  }
}
