/**
 * Forbids the system calls by which a program runs with the rights of its owner or group (setuid, setgid): outside of
 * the sandbox such a file would keep them. The filter is a program for the kernel, which bubblewrap installs.
 */

/** The bits that no file may get. */
const rights = 0o6000

/** The flags of `open` with which it takes a mode: `O_CREAT`, and that of `O_TMPFILE`. */
const creates = 0o100 | 0o20000000

/** A calling convention: its number for the kernel, and its calls. */
interface Convention {
  readonly audit: number
  /** Calls that take a mode, and which argument that is. */
  readonly modes: Readonly<Record<number, number>>
  /** Calls that take flags, and a mode behind them; which argument the flags are. */
  readonly opens: Readonly<Record<number, number>>
}

/** Calls whose arguments cannot be looked at, the same in all conventions: `openat2` and `io_uring_setup`. */
const opaque = [437, 425]

const fchmodat2 = { 452: 2 }

const conventions: Readonly<Partial<Record<NodeJS.Architecture, ReadonlyArray<Convention>>>> = {
  x64: [
    // chmod, fchmod, fchmodat, creat, mknod, mknodat; open, openat
    {
      audit: 0xC000003E,
      modes: { 90: 1, 91: 1, 268: 2, 85: 1, 133: 1, 259: 2, ...fchmodat2 },
      opens: { 2: 1, 257: 2 }
    },
    { audit: 0x40000003, modes: { 15: 1, 94: 1, 306: 2, 8: 1, 14: 1, 297: 2, ...fchmodat2 }, opens: { 5: 1, 295: 2 } }
  ],
  arm64: [
    { audit: 0xC00000B7, modes: { 52: 1, 53: 2, 33: 2, ...fchmodat2 }, opens: { 56: 2 } },
    { audit: 0x40000028, modes: { 15: 1, 94: 1, 333: 2, 8: 1, 14: 1, 324: 2, ...fchmodat2 }, opens: { 5: 1, 322: 2 } }
  ]
}

/** An instruction: its code, how many to skip if a test holds or not, and its operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const equals = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x15, ifTrue, ifFalse, value]
const atLeast = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x35, ifTrue, ifFalse, value]
const hasAny = (bits: number, ifTrue: number, ifFalse: number): Instruction => [0x45, ifTrue, ifFalse, bits]
const end = (result: number): Instruction => [0x06, 0, 0, result]

const allow = end(0x7FFF0000)
const failing = (error: number) => end(0x00050000 | error)
const notPermitted = failing(1)
const notImplemented = failing(38)

/** Where the low half of an argument is. */
const argument = (index: number): number => 16 + 8 * index

/** The part for one convention, entered with its number loaded: other numbers skip it. */
const partOf = ({ audit, modes, opens }: Convention): ReadonlyArray<Instruction> => {
  const body: ReadonlyArray<Instruction> = [
    load(0),
    // The numbers of x32 begin here: the same calls once more, which hardly any kernel has.
    ...audit === 0xC000003E ? [atLeast(0x40000000, 0, 1), notImplemented] : [],
    ...opaque.flatMap((call) => [equals(call, 0, 1), notImplemented]),
    ...Object.entries(modes).flatMap(([call, mode]) => [
      equals(Number(call), 0, 4),
      load(argument(mode)),
      hasAny(rights, 0, 1),
      notPermitted,
      allow
    ]),
    ...Object.entries(opens).flatMap(([call, flags]) => [
      equals(Number(call), 0, 6),
      load(argument(flags)),
      hasAny(creates, 0, 3),
      load(argument(flags + 1)),
      hasAny(rights, 0, 1),
      notPermitted,
      allow
    ]),
    allow
  ]
  return [equals(audit, 0, body.length), ...body]
}

/** The filter for this machine; undefined if its calls are not known. */
export const filterFor = (architecture: NodeJS.Architecture): Buffer | undefined => {
  const known = conventions[architecture]
  if (known === undefined) return undefined
  const program = [load(4), ...known.flatMap(partOf), notImplemented]
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(ifTrue, at * 8 + 2)
    bytes.writeUInt8(ifFalse, at * 8 + 3)
    bytes.writeUInt32LE(operand >>> 0, at * 8 + 4)
  }
  return bytes
}
