/** Decides who reaches a server, and where: secrets in files, tokens, addresses. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import * as NodeFs from "node:fs"
import { isIP, Socket } from "node:net"
import { getuid } from "node:process"
import { UsageError } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { errorLine } from "../explain.ts"

/** Too long to guess: 128 bits as hexadecimal digits. */
const shortest = 32

/** As headers carry it, with room for others. */
const longest = 1_024

/** How much of a file is read, in bytes: blank space around the secret does not count. */
const mostRead = 65_536

/** What is not a file may never end, or never begin, unless it is a pipe whose other end is open. */
const kindOf = (stat: NodeFs.Stats): string =>
  stat.isDirectory() ? "a directory" : stat.isFIFO() ? "a pipe" : stat.isSocket() ? "a socket" : "a device"

const descriptor = /^(?:\/dev|\/proc\/self)\/fd\/(\d{1,6})$/

/** The descriptor that a path names, which this process has from its shell; undefined if it names none. */
export const descriptorOf = (file: string): number | undefined => {
  const number = file === "/dev/stdin" ? "0" : descriptor.exec(file)?.[1]
  return number === undefined ? undefined : Number(number)
}

/** Whether it is a pipe such as `<(COMMAND)`. Its other end is open already, so that reading it ends. */
const isOpenPipe = (file: string, stat: NodeFs.Stats): boolean => stat.isFIFO() && descriptorOf(file) !== undefined

/** Why a file must not be used; `undefined` if it may. */
const faultOf = (file: string, stat: NodeFs.Stats): string | undefined => {
  if (!stat.isFile() && !isOpenPipe(file, stat)) {
    return `is ${kindOf(stat)}. Give a regular file, or <(COMMAND) of a shell`
  }
  const me = getuid?.()
  if (me === undefined) return undefined
  if (stat.uid !== me && stat.uid !== 0) {
    return `belongs to another user (${stat.uid}), who can change it. Run: chown ${me} ${file} && chmod 600 ${file}`
  }
  return (stat.mode & 0o022) === 0 ? undefined : `can be changed by other users. Run: chmod 600 ${file}`
}

/** A file as it was when it was checked: what its path names later does not count. */
type Content = { readonly fault: string } | { readonly text: string; readonly stat: NodeFs.Stats }

const contentOf = (handle: number, file: string): Content => {
  const stat = NodeFs.fstatSync(handle)
  const fault = faultOf(file, stat)
  if (fault !== undefined) return { fault }
  const bytes = Buffer.alloc(Math.min(stat.size, mostRead))
  const count = NodeFs.readSync(handle, bytes, 0, bytes.length, 0)
  return { text: bytes.toString("utf8", 0, count).trim(), stat }
}

const cannotRead = (flag: string, file: string, message: string) =>
  new UsageError({ message: `${flag}: ${file} cannot be read (${message}).` })

/** All that comes through a pipe, until its other end is closed. */
const readPipe = (flag: string, file: string, fd: number): Effect.Effect<string, UsageError> =>
  Effect.async((resume) => {
    const socket = new Socket({ fd, readable: true, writable: false })
    const pieces: Array<Buffer> = []
    let size = 0
    const end = () => resume(Effect.sync(() => Buffer.concat(pieces).subarray(0, mostRead).toString("utf8").trim()))
    socket.on("data", (piece: Buffer) => {
      pieces.push(piece)
      size += piece.length
      if (size >= mostRead) end()
    })
    socket.once("end", end)
    socket.once("error", ({ message }) => resume(cannotRead(flag, file, message)))
    return Effect.sync(() => void socket.destroy())
  })

const look = <A>(flag: string, file: string, read: () => A): Effect.Effect<A, UsageError> =>
  Effect.try({
    try: read,
    catch: (cause) => cannotRead(flag, file, cause instanceof Error ? cause.message : String(cause))
  })

/** Whether others can read it. If root shares a file with our group, that is how it reaches us. */
const isOpen = ({ mode, uid }: NodeFs.Stats): boolean =>
  getuid !== undefined && (mode & (uid === 0 && getuid() !== 0 ? 0o004 : 0o044)) !== 0

const readFile = (flag: string, file: string) =>
  Effect.acquireUseRelease(
    look(flag, file, () => NodeFs.openSync(file, NodeFs.constants.O_RDONLY | (NodeFs.constants.O_NONBLOCK ?? 0))),
    (handle) => look(flag, file, () => contentOf(handle, file)),
    (handle) => Effect.sync(() => NodeFs.closeSync(handle))
  )

/** Reads what a file keeps secret, for this flag. Warns if others can read it. */
export const readSecret = Effect.fnUntraced(function*(flag: string, file: string) {
  // A pipe or a device is not even opened: that alone may wait, or have an effect.
  const stat = yield* look(flag, file, () => NodeFs.statSync(file))
  const fault = faultOf(file, stat)
  if (fault !== undefined) return yield* new UsageError({ message: `${flag}: ${file} ${fault}.` })
  const fd = isOpenPipe(file, stat) ? descriptorOf(file) : undefined
  const found = fd === undefined ? yield* readFile(flag, file) : { text: yield* readPipe(flag, file, fd), stat }
  if ("fault" in found) return yield* new UsageError({ message: `${flag}: ${file} ${found.fault}.` })
  const { length } = found.text
  if (length < shortest || length > longest || !/^[\x21-\x7e]+$/.test(found.text)) {
    return yield* new UsageError({
      message: `${flag}: ${file} has to hold a secret of ${shortest} to ${longest} visible ASCII characters. `
        + `Make one: (umask 077 && openssl rand -hex 32 > ${fd === undefined ? file : "FILE"})`
    })
  }
  if (isOpen(found.stat)) {
    const { err } = yield* Stdio
    err(errorLine(`${flag}: other users can read ${file}. Run: chmod 600 ${file}`))
  }
  return found.text
})

/** Whether only programs of this machine reach an address. */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "::1" || (isIP(hostname) === 4 && hostname.startsWith("127."))

/** The token of a server that listens on this address. */
export const tokenFor = (
  hostname: string,
  file: string | undefined
): Effect.Effect<Redacted.Redacted, UsageError, Stdio> => {
  if (file !== undefined) return Effect.map(readSecret("--token-file", file), Redacted.make)
  if (!isLoopback(hostname)) {
    return new UsageError({
      message: `--hostname ${hostname} is open to other machines, so it needs --token-file FILE with your own token. `
        + "The server does not encrypt: put a proxy with TLS in front of it, and name that with --public-url."
    })
  }
  return Effect.sync(() => Redacted.make(randomBytes(32).toString("hex")))
}

const urlFaultOf = (text: string, url: URL | undefined, hostname: string): string | undefined => {
  if (!/^https?:\/\//i.test(text)) return "has to begin with https:// or http://"
  if (url === undefined) return "is no valid URL: check its host, and its port up to 65535"
  if (url.username !== "" || url.password !== "") return "must not contain a user or a password"
  if (url.pathname !== "/") return "must not have a path, because the server answers at the root of a host"
  if (/[?#]/.test(text)) return "must end after the host and port"
  return isLoopback(url.hostname.replace(/^\[|\]$/g, "")) && !isLoopback(hostname)
    ? `names an address that each machine has for itself, and the server listens on ${hostname}`
    : undefined
}

/** Reads the value of `--public-url` for a server that listens on this host: the origin of the address. */
export const readPublicUrl = (text: string, hostname: string): Effect.Effect<string, UsageError> => {
  const url = Either.getOrUndefined(Either.try(() => new URL(text)))
  const fault = urlFaultOf(text, url, hostname)
  return url !== undefined && fault === undefined
    ? Effect.succeed(url.origin)
    : new UsageError({
      // A password does not belong on a terminal.
      message: `--public-url ${fault}${url?.username || url?.password ? "" : `, and got ${JSON.stringify(text)}`}. `
        + "Give the address at which a proxy serves it, such as https://skein.example."
    })
}
