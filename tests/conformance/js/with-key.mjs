// For products without an option for headers: with `node --import`, each request has the key of AGUI_KEY.
import { channel } from "node:diagnostics_channel";

channel("undici:request:create").subscribe(({ request }) => {
  request.addHeader("authorization", `Bearer ${process.env.AGUI_KEY}`);
});
