import { Provider } from "@skein/core/Provider"
import { survey } from "@skein/offline/Survey"
import { providerSuite } from "@skein/testing/ProviderSuite"

providerSuite({ name: "offline", layer: Provider.layerModels([survey]) })
