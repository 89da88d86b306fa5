// @ts-check
// A home, a model, and the built program on a terminal.
import { spawn } from "node:child_process"
import { mkdirSync, rmSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { makeHome, program } from "../server/serve.mjs"
import { openSeat } from "./seat.mjs"

const modelFile = fileURLToPath(new URL("model.mjs", import.meta.url))

export const ready = "Write a prompt"

/** Makes it. */
export const makeWorld = async (/** @type {Record<string, string>} */ more = {}) => {
  const model = spawn(process.execPath, [modelFile], { stdio: ["ignore", "pipe", "inherit"] })
  const port = await new Promise((resolve) => model.stdout.once("data", (text) => resolve(String(text).trim())))
  const home = makeHome({ model: `http://127.0.0.1:${port}/v1` })
  mkdirSync(`${home.project}/.git`, { recursive: true })
  const env = /** @type {Record<string, string>} */ ({ ...home.env, TERM: "xterm-256color", NO_COLOR: "1", ...more })
  /** @param {ReadonlyArray<string>} args */
  const open = (args = []) =>
    openSeat([process.execPath, ...program, "-m", "openai/m", ...args], { cwd: home.project, env })
  /** Runs the program without a terminal. @param {ReadonlyArray<string>} args @returns {Promise<string>} */
  const run = (args) =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [...program, ...args], {
        cwd: home.project,
        env,
        stdio: ["ignore", "pipe", "inherit"]
      })
      let output = ""
      child.stdout.on("data", (text) => output += text)
      child.once(
        "close",
        (code) => code === 0 ? resolve(output) : reject(new Error(`skein ${args.join(" ")}: ${code}`))
      )
    })
  const close = () => {
    model.kill("SIGKILL")
    rmSync(home.home, { recursive: true, force: true })
  }
  /** How many deltas the model has sent to agents that stream. */
  const sent = async () => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text())
  return { home, open, run, sent, close }
}
