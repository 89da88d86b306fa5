import { SessionStorage } from "@skein/core/SessionStorage"
import { sessionStorageSuite } from "@skein/testing/SessionStorageSuite"

sessionStorageSuite({ name: "memory", layer: () => SessionStorage.layerMemory, lasts: false })
