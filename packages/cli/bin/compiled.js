// The program as one script, with the code that V8 compiled from it, which starts in about half the time. That code is good
// for one Node on one kind of machine. A build leaves it beside the script. Where there is none, as in an installed
// package, or where V8 refuses it, a run that prompted a model leaves what was compiled by its end in the user's cache.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"
import { Script } from "node:vm"
import zlib from "node:zlib"

/** How many files stay in the cache: for some versions of the program or of Node that are used in turns. */
const kept = 4

/** Where code that V8 compiled is kept, if it is a place of the user alone: whoever can write there can run anything. */
const cacheDirectory = () => {
  const given = process.env.XDG_CACHE_HOME
  const caches = given !== undefined && isAbsolute(given) ? given : join(homedir(), ".cache")
  // An empty or relative home is none: it would be a directory of the project.
  if (!isAbsolute(caches)) return undefined
  const directory = join(caches, "skein", "compiled")
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { mode, uid } = statSync(directory)
  return uid === process.getuid?.() && (mode & 0o022) === 0 ? directory : undefined
}

/**
 * The script with the code in a file. V8 checks that the code is its own, but not that it is whole or of this very source:
 * with damaged code it crashes. So the file begins with checksums of both.
 * @param {string} filename
 * @param {Buffer} source
 * @param {string} file
 */
const withCode = (filename, source, file) => {
  try {
    const cache = readFileSync(file)
    const cachedData = cache.subarray(8)
    const isWhole = cache.readUInt32LE(0) === zlib.crc32(source) && cache.readUInt32LE(4) === zlib.crc32(cachedData)
    const script = isWhole ? new Script(source.toString("latin1"), { filename, cachedData }) : undefined
    return script?.cachedDataRejected === false ? script : undefined
  } catch {
    // There is none.
    return undefined
  }
}

/**
 * Writes what V8 has compiled of a script into a file, at once, so that no program that starts meanwhile finds a part of it.
 * @param {Script} script
 * @param {Buffer} source
 * @param {string} file
 */
export const writeCode = (script, source, file) => {
  const code = script.createCachedData()
  const head = Buffer.alloc(8)
  head.writeUInt32LE(zlib.crc32(source), 0)
  head.writeUInt32LE(zlib.crc32(code), 4)
  const made = `${file}.${process.pid}.new`
  writeFileSync(made, Buffer.concat([head, code]), { mode: 0o600 })
  renameSync(made, file)
}

/** @param {string} directory */
const removeOld = (directory) =>
  readdirSync(directory)
    .map((name) => join(directory, name))
    .map((file) => ({ file, age: -statSync(file).mtimeMs }))
    .toSorted((a, b) => a.age - b.age)
    .slice(kept)
    .forEach(({ file }) => rmSync(file, { force: true }))

/**
 * Finds the script, and code for it: beside it, or in the user's cache. `keep` leaves what was compiled in that cache, where
 * no code was found. Undefined where there is neither code nor a place to keep it: then modules start faster.
 * @param {string} filename
 */
export const compiledScript = (filename) => {
  try {
    const source = readFileSync(filename)
    const built = withCode(filename, source, filename.replace(/cjs$/, "cache"))
    if (built !== undefined) return { script: built, keep: undefined }
    const directory = cacheDirectory()
    if (directory === undefined) return undefined
    const { arch, version } = process
    const file = join(directory, `${zlib.crc32(source).toString(16)}-${version}-${arch}.cache`)
    const found = withCode(filename, source, file)
    if (found !== undefined) return { script: found, keep: undefined }
    const script = new Script(source.toString("latin1"), { filename })
    const keep = () => {
      try {
        writeCode(script, source, file)
        removeOld(directory)
      } catch {
        // The next start is as slow as this one: a full disk is told of by what has to be stored.
      }
    }
    return { script, keep }
  } catch {
    // There is no script, or no home.
    return undefined
  }
}
