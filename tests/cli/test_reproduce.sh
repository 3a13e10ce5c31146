# brim reproduce: the machinery, on an experiment cut down to seconds.

# The rabbit of idp-fig9 on a coarse grid.
small_rabbit() {
    mkdir small
    cp "$here/../../scenes/rabbit.obj" small
    sed 's/cells: .*/cells: [92, 92]/; s/duration: .*/duration: 1.6/' \
        "$here/../../scenes/rabbit-2d.yaml" >small/rabbit-2d.yaml
}

test_reproduce_lists() {
    brim_gives 0 reproduce --list
    for name in idp-fig3 idp-fig4 idp-fig5 idp-fig6 idp-stability idp-fig8 idp-fig9 idp-fig10 \
        warp-fig7 warp-fig11 warp-fig9 warp-fig6 rim-fig8; do
        grep -qE "^$name  *[0-9]+ (s|min|h|d)  *[0-9]+ (s|min|h) " out || give_up "$name is not listed with its time"
    done
    brim_gives 2 reproduce
    says err "--list"
    brim_gives 2 reproduce idp-fig
    says err "did you mean 'idp-fig"
}

test_reproduce_refuses_a_folder_without_the_scene() {
    mkdir empty
    brim_gives 3 reproduce idp-fig9 --quick --scenes empty -o res
    says err "rabbit-2d.yaml is not in empty"
}

test_reproduce_writes_table_curves_and_plot() {
    small_rabbit
    brim_gives 0 reproduce idp-fig9 -o res --scenes small --threads 1
    says out "all 2 within their range"
    there res/idp-fig9.csv res/idp-fig9-table.csv res/idp-fig9.svg res/idp-fig9.png
    [ "$(ls res | wc -l)" -eq 4 ] || give_up "other files in res: $(ls res)"
    head -n 1 res/idp-fig9.csv | grep -q '^trial,frame,step,time,' || give_up "no head"
    # a row for each frame of both trials
    [ "$(grep -c '^"density",' res/idp-fig9.csv)" -eq 80 ] || give_up "not a row for each frame"
    grep -q '^"density: particles inside after 1 s","0",0,0,0,ok$' res/idp-fig9-table.csv ||
        give_up "the table lacks a row"
    ! command -v xmllint >/dev/null || xmllint --noout res/idp-fig9.svg || give_up "no XML"
}

test_reproduce_without_a_simulation() {
    brim_gives 0 reproduce warp-fig9 -o res --threads 1
    says out "all 5 within their range"
    there res/warp-fig9.csv res/warp-fig9-table.csv res/warp-fig9.svg res/warp-fig9.png
    grep -q '^"one point, 3D, box of 8 cells: null space","a null space",26,26,26,ok$' \
        res/warp-fig9-table.csv || give_up "the table lacks a row"
}

test_reproduce_fails_outside_its_range() {
    small_rabbit
    # without the rabbit nothing is displaced: the rise is no number
    sed -i '/^solids:/,$d' small/rabbit-2d.yaml
    brim_gives 1 reproduce idp-fig9 -o res --scenes small
    says out "OUTSIDE"
    says out "outside their range"
    grep -q ',OUTSIDE$' res/idp-fig9-table.csv || give_up "the table does not tell"
}

test_reproduce_bad_input() {
    mkdir away
    cp "$BRIM" away/brim
    (cd away && ./brim reproduce idp-fig3 >../out 2>../err)
    code=$?
    [ "$code" -eq 3 ] || give_up "exit code $code, not 3"
    says err "double-dam-2d.yaml"
    says err "--scenes"
    touch file
    brim_gives 3 reproduce idp-fig9 -o file/res
    says err "file/res"
    small_rabbit
    echo "nonsense: 1" >>small/rabbit-2d.yaml
    brim_gives 2 reproduce idp-fig9 -o res --scenes small
    says err "nonsense"
    [ -z "$(ls res)" ] || give_up "files of a failed experiment"
}
