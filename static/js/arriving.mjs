/** The response of an identity provider: posted again from this site, so that cookies go with it. */

import { find } from "./dom.mjs";

find("arriving").requestSubmit();
