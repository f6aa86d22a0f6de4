// Studies that a reader has saved under a name: links, kept in this browser and nowhere else.
export default function({ parentElement }) {
    const KEY = "palimpsest studies", MOST = 50;
    const form = parentElement.querySelector("form");
    const field = parentElement.querySelector("input");
    const list = parentElement.querySelector("ul");
    const note = parentElement.querySelector("p");

    function read() {
        try {
            const kept = JSON.parse(window.localStorage.getItem(KEY) ?? "[]");
            const sound = ({ name, link }) => typeof name === "string" && /^\/(?![/\\])/.test(link);
            return Array.isArray(kept) ? kept.filter((each) => each && sound(each)) : [];
        } catch {  // no storage, or something else under this key
            return [];
        }
    }

    function write(studies) {
        try {
            window.localStorage.setItem(KEY, JSON.stringify(studies));
            note.textContent = "";
        } catch {
            note.textContent = "This browser keeps nothing. Copy the link instead.";
        }
        draw();
    }

    function draw() {
        list.replaceChildren(...read().map(({ name, link }) => {
            const row = document.createElement("li");
            const anchor = row.appendChild(document.createElement("a"));
            [anchor.href, anchor.target, anchor.textContent, anchor.title] = [link, "_self", name, link];
            const remove = row.appendChild(document.createElement("button"));
            [remove.type, remove.textContent] = ["button", "×"];
            remove.setAttribute("aria-label", `Remove ${name}`);
            remove.onclick = () => write(read().filter((each) => each.name !== name));
            return row;
        }));
    }

    form.onsubmit = (event) => {
        event.preventDefault();
        const name = field.value.trim();
        if (!name) return;
        const link = window.location.pathname + window.location.search;
        write([{ name, link }, ...read().filter((each) => each.name !== name)].slice(0, MOST));
        field.value = "";
    };
    draw();
}
