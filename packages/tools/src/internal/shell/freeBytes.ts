/** Frees memory before the garbage collector does. */
import { MessageChannel } from "node:worker_threads"

/** Smaller buffers may share their memory with others. */
const least = 16 * 1024

/**
 * A port without a listener, which drops what it receives. Node reads a child's output into new memory each time and
 * does not collect it below some 64 MB, so a long output would use that much, however little is kept.
 */
const { port1: sink, port2: other } = new MessageChannel()
other.close()

/** Frees the memory of a large buffer that nobody uses. Small buffers are left alone. */
export const freeBytes = (bytes: Buffer): void => {
  const memory = bytes.buffer
  if (!(memory instanceof ArrayBuffer) || memory.byteLength < least || bytes.length !== memory.byteLength) return
  sink.postMessage(undefined, [memory])
}
