import { Link } from "./link";
const app = document.getElementById("app")!;
const link = new Link(location.hash.slice(1), {
  state: (s) => (app.dataset.state = s),
  text: (m) => console.log(JSON.stringify(m).slice(0, 200)),
  binary: (m) => {
    if (m.kind !== "geometry") link.shown(m.serial);
  },
});
link.open();
