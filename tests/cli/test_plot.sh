# brim plot and brim report.

valid_xml() {
    if command -v xmllint >/dev/null; then
        xmllint --noout "$1" >xml 2>&1 || give_up "$1 is not valid XML: $(head -n 3 xml)"
    else
        echo "skipped: xmllint is not installed, $1 is not checked as XML"
    fi
}

# A short run in DIR; further arguments go to brim run.
statistics_run() {
    write_scene
    brim_gives 0 run scene.yaml -o "$1" --quiet --frames 8 "${@:2}"
}

test_plot_one_run() {
    statistics_run one
    brim_gives 0 plot one
    says out "one/plot.svg"
    valid_xml one/plot.svg
    for words in "Liquid volume" "Energy" "J/m" "Largest speed" "time (s)" "Time by stage" ">other<" \
        "ms a step"; do
        says one/plot.svg "$words"
    done
    brim_gives 0 plot one/stats.csv -o by_name.svg
    same_file one/plot.svg by_name.svg
    cp one/plot.svg first.svg
    brim_gives 0 plot one/ -o again.svg
    same_file first.svg again.svg
}

test_plot_several_runs() {
    statistics_run 'a<b'
    statistics_run two --set time.step=0.004
    brim_gives 0 plot 'a<b' two -o both.svg --title 'x & y'
    valid_xml both.svg
    says both.svg "a&lt;b</text>"
    says both.svg ">two</text>"
    says both.svg "x &amp; y"
    brim_gives 0 plot 'a<b' two -o named.svg --label short --label long \
        --columns max_speed,kinetic_energy+potential_energy --x step --log
    valid_xml named.svg
    says named.svg ">short</text>"
    says named.svg "long, potential"
    says_not named.svg "Time by stage"
}

test_plot_bad_input() {
    statistics_run one
    brim_gives 2 plot one -o p.svg --columns volume_cels
    says err "did you mean 'volume_cells'?"
    says err "ms_total"
    brim_gives 2 plot one -o p.svg --columns ,
    brim_gives 2 plot one -o p.svg --x when
    brim_gives 2 plot one -o p.png
    says err ".svg"
    brim_gives 2 plot one one
    says err "-o FILE.svg"
    brim_gives 2 plot one -o p.svg --label a --label b
    brim_gives 3 plot nothing -o p.svg
    says err "nothing"
    mkdir empty
    brim_gives 2 plot empty -o p.svg
    says err "no stats.csv"
    mkdir young
    head -n 1 one/stats.csv >young/stats.csv
    brim_gives 2 plot young -o p.svg
    says err "no rows"
    printf 'a,b\n1,2\n3\n' >young/stats.csv
    brim_gives 2 plot young -o p.svg
    says err "line 3"
    brim_gives 3 plot one -o missing/p.svg
    mkdir folder.svg
    run_brim plot one -o folder.svg
    [ "$code" -ne 0 ] || give_up "a folder was written over"
    absent p.svg p.png missing
    [ -z "$(find . -name '*brim-tmp*')" ] || give_up "leftovers of writing"
}

test_plot_of_a_run_under_way() {
    statistics_run one
    head -c -7 one/stats.csv >cut && mv cut one/stats.csv # torn last row
    brim_gives 0 plot one -o p.svg
    valid_xml p.svg
}

test_report_is_one_page() {
    statistics_run one
    brim_gives 0 report one
    says out "one/report.html"
    for words in "<title>one - Brim</title>" "Warnings" "32 x 32 cells" "stopped at 0.16 s of 0.4 s" \
        "Particles in a cell" "volume_cells" "per_cell"; do
        says one/report.html "$words"
    done
    [ "$(grep -c 'src="data:image/png;base64,' one/report.html)" -eq 9 ] || give_up "not 9 pictures"
    grep -oE '(src|href)="[^"]{0,12}' one/report.html | grep -vE '"data:' &&
        give_up "the page needs other files"
    brim_gives 0 report one -o few.html --frames 3
    [ "$(grep -c 'src="data:' few.html)" -eq 3 ] || give_up "not 3 pictures"
}

test_report_warns() {
    # steps far too long, and a solver that may not finish its work
    statistics_run one --set time.step=0.02 --set time.duration=0.16 --set solver.tolerance=1e-9 \
        --set solver.max_iterations=50
    # rows as a run would leave them that lost water
    awk -F, -v OFS=, 'NR==1 {for (i = 1; i <= NF; i++) c[$i] = i; print; next}
        {$c["volume_cells"] = 0.9; if ("volume" in c) $c["volume"] = 0.9
         $c["residual"] = 1; print}' one/stats.csv >new && mv new one/stats.csv
    brim_gives 0 report one -o r.html
    says r.html "Volume drift"
    says r.html "-10.00 %"
    says r.html "Solver not converged in 8 of 8 steps"
    says_not r.html "stopped at"
}

test_report_bad_input() {
    statistics_run one
    mkdir empty
    brim_gives 2 report empty -o r.html
    brim_gives 3 report nothing -o r.html
    mv one/run.json .
    brim_gives 2 report one -o r.html
    says err "run.json"
    mv run.json one/
    head -c 300 one/particles/000004.ply >cut && mv cut one/particles/000004.ply
    brim_gives 6 report one -o r.html
    says err "000004.ply"
    rm one/particles/*
    brim_gives 0 report one -o none.html
    says none.html "no particle frames"
    absent r.html
    [ -z "$(find . -name '*brim-tmp*')" ] || give_up "leftovers of writing"
}

# The page in a real browser: no message on the console, every image decoded.
test_report_in_a_browser() {
    local browser
    browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
        echo "skipped: no Chromium to open the report in"
        return 0
    }
    statistics_run one
    brim_gives 0 report one -o r.html
    cat r.html - >probe.html <<'PROBE'
<script>
addEventListener('load', () => {
    const shown = [...document.images].filter(i => i.complete && i.naturalWidth === 480).length;
    const plots = document.querySelectorAll('svg.brim-plot text').length;
    document.body.innerHTML = `images ${shown} of ${document.images.length}, labels ${plots > 20}`;
});
</script>
PROBE
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
        --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "file://$PWD/probe.html" \
        >out 2>err || give_up "the browser failed"
    says out "images 9 of 9, labels true"
    says_not err "CONSOLE"
}

test_gauges() {
    write_scene
    cat >>scene.yaml <<'EOF'
gauges:
  - {name: wall, rate: 500, point: {at: [0, 0]}}
  - {name: level, height: {from: [0, 0], to: [0, 1]}}
EOF
    brim_gives 0 run scene.yaml -o g --quiet --frames 8
    there g/gauges/wall.csv g/gauges/level.csv
    says g/gauges/wall.csv "time (s),pressure (Pa),velocity x (m/s),velocity y (m/s)"
    brim_gives 0 plot g/gauges/wall.csv
    says out "g/gauges/wall.svg"
    valid_xml g/gauges/wall.svg
    says g/gauges/wall.svg ">Pressure<"
    says g/gauges/wall.svg ">Pa<"
    brim_gives 0 plot g/gauges/wall.csv g/gauges/wall.csv -o two.svg --columns 'pressure (Pa)' --label a
    says two.svg ">a<"
    brim_gives 2 plot g/gauges/wall.csv --columns presure
    says err "wall.csv has no column 'presure'"
    brim_gives 0 report g --frames 0
    says g/report.html "<h2>Gauges</h2>"
    says g/report.html "<h3>level</h3>"
    # a run that is replaced leaves none behind
    sed -i '/name: level/d' scene.yaml
    brim_gives 0 run scene.yaml -o g --quiet --frames 2 --overwrite
    there g/gauges/wall.csv
    absent g/gauges/level.csv
}
